#include <nlohmann/json.hpp>

#include "engine/config/config_tree.h"
#include "engine/config/declared.h"
#include "engine/config/yaml_reader.h"

namespace trainer {
namespace {

using Json = nlohmann::ordered_json;

Json reference_to(const std::string& definition) { return {{"$ref", "#/definitions/" + definition}}; }

Json closed_map(Json properties) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

Json any_of(std::vector<Json> choices) {
  if (choices.size() == 1) return choices[0];
  return {{"anyOf", std::move(choices)}};
}

Json list_of_schemas(Json element) { return {{"type", "array"}, {"items", std::move(element)}}; }

Json with_range(Json schema, const Setting& setting) {
  if (setting.minimum) schema[setting.above_minimum ? "exclusiveMinimum" : "minimum"] = *setting.minimum;
  if (setting.maximum) schema[setting.below_maximum ? "exclusiveMaximum" : "maximum"] = *setting.maximum;
  return schema;
}

Json schema_of(const Setting& setting);

/// A YAML default as JSON, for editors to show.
Json value_of(const Node& node) {
  if (node.is_list()) {
    Json list = Json::array();
    for (const Node& item : node.items) list.push_back(value_of(item));
    return list;
  }
  if (node.is_map()) {
    Json map = Json::object();
    for (const NodeEntry& entry : node.entries) map[entry.key] = value_of(entry.value);
    return map;
  }
  if (node.plain && Json::accept(node.text)) return Json::parse(node.text);
  return node.text;
}

Json keys_of(const std::vector<Setting>& settings) {
  Json properties = Json::object();
  for (const Setting& setting : settings) properties[setting.name] = schema_of(setting);
  return properties;
}

/// The forms without the words and without `$name`, which go with all of them.
std::vector<Json> forms_of(const Setting& setting) {
  const Json integer = with_range({{"type", "integer"}}, setting);
  const auto duration = [&](const Json& count) {
    Json either = Json::array();
    for (const char* unit : {"epochs", "steps"}) {
      Json map = closed_map({{unit, count}});
      map["required"] = {unit};
      either.push_back(map);
    }
    return Json{{"oneOf", either}};
  };
  Setting counted = setting;
  if (!counted.minimum) counted.at_least(0);
  const Json count = any_of({with_range({{"type", "integer"}}, counted), reference_to("name")});
  switch (setting.kind) {
    case Setting::Kind::boolean:
      return {{{"type", "boolean"}}};
    case Setting::Kind::integer:
      return {integer};
    case Setting::Kind::real:
      return {with_range({{"type", "number"}}, setting)};
    case Setting::Kind::text:
      return {{{"type", {"string", "number", "boolean"}}}};
    case Setting::Kind::choice:
      return {};
    case Setting::Kind::integers: {
      Json list = list_of_schemas(any_of({integer, reference_to("name")}));
      if (setting.count > 0) list["minItems"] = list["maxItems"] = setting.count;
      return {integer, list};
    }
    case Setting::Kind::duration:
      return {duration(count)};
    case Setting::Kind::durations:
      return {duration(any_of({count, list_of_schemas(count)}))};
    case Setting::Kind::family:
      return {reference_to(setting.family_name)};
    case Setting::Kind::list:
      return {list_of_schemas(schema_of(setting.nested.at(0)))};
    case Setting::Kind::section:
      return {closed_map(keys_of(setting.nested))};
    case Setting::Kind::either: {
      std::vector<Json> forms;
      for (const Setting& one : setting.nested) {
        for (Json& form : forms_of(one)) forms.push_back(std::move(form));
        if (!one.choices.empty()) forms.push_back({{"enum", one.choices}});
      }
      return forms;
    }
  }
  return {};
}

Json schema_of(const Setting& setting) {
  std::vector<Json> forms = forms_of(setting);
  if (!setting.choices.empty()) forms.push_back({{"enum", setting.choices}});
  if (setting.kind != Setting::Kind::section) forms.push_back(reference_to("name"));
  // What stands beside $ref is ignored in draft-07, so the description goes around it.
  Json schema = any_of(std::move(forms));
  if (!setting.help.empty()) schema["description"] = setting.help;
  if (!setting.default_yaml.empty()) {
    const SourceText text{"", setting.default_yaml, SourceText::Origin::builtin};
    schema["default"] = value_of(parse_yaml(text));
  }
  return schema;
}

Json member_schema(const Catalog::Family& family, const Declaration& member, bool layer) {
  Json properties = keys_of(member.settings);
  for (const Setting& setting : family.shared) properties[setting.name] = schema_of(setting);
  if (layer) properties["repeat"] = any_of({{{"type", "integer"}, {"minimum", 1}}, reference_to("name")});
  std::vector<Json> forms{closed_map(properties)};
  if (!member.primary.empty())
    forms.push_back(schema_of(*find_setting(pointers(member.settings), member.primary)));
  forms.push_back(reference_to("name"));
  Json schema = any_of(std::move(forms));
  schema["description"] = member.help;
  return schema;
}

/// A text, or a map with one key. A layer may also be a block, whose name the schema cannot know.
Json family_schema(const std::string& name, const Catalog::Family& family) {
  const bool layer = name == kLayerFamily;
  Json properties = Json::object();
  for (const auto& [member_name, member] : family.members)
    properties[member_name] = member_schema(family, member, layer);
  Json map = {{"type", "object"}, {"properties", properties}, {"minProperties", 1}, {"maxProperties", 1}};
  map["additionalProperties"] = layer;
  Json text = {{"enum", names_of(family)}};
  if (layer) text = Json{{"anyOf", {text, {{"type", "string"}}}}};  // the names are for completion
  return {{"oneOf", {text, map}}};
}

/// What must be there, sections within sections; the keys of members may come from `defaults`.
Json required_keys(const std::vector<Setting>& settings) {
  Json required = Json::array(), inner = Json::object();
  for (const Setting& setting : settings) {
    if (!setting.required) continue;
    required.push_back(setting.name);
    if (setting.kind == Setting::Kind::section) inner[setting.name] = required_keys(setting.nested);
  }
  Json schema = {{"required", std::move(required)}};
  if (!inner.empty()) schema["properties"] = std::move(inner);
  return schema;
}

}  // namespace

std::string json_schema(const std::vector<Setting>& root) {
  Json properties = keys_of(root);
  const Catalog::Family& layers = Catalog::all().family(kLayerFamily);
  Json defaults = Json::object();
  for (const Setting& setting : layers.shared)
    if (setting.name != "name") defaults[setting.name] = schema_of(setting);
  for (const auto& [name, member] : layers.members) {
    Json keys = keys_of(member.settings);
    for (const Setting& setting : layers.shared)
      if (setting.name != "name") keys[setting.name] = schema_of(setting);
    defaults[name] = closed_map(std::move(keys));
  }
  Json block =
      closed_map({{"args", {{"type", "object"}}}, {"layers", list_of_schemas(reference_to(kLayerFamily))}});
  block["required"] = {"layers"};
  properties["base"] = {{"type", "string"}, {"description", "a file whose keys this one changes"}};
  properties["vars"] = {{"type", "object"}, {"description", "values that $name stands for"}};
  properties["blocks"] = {{"type", "object"},
                          {"description", "layers made of layers"},
                          {"additionalProperties", std::move(block)}};
  properties["defaults"] = closed_map(std::move(defaults));
  properties["defaults"]["description"] = "settings for all layers, or for all of a type";

  Json definitions = {{"name", {{"type", "string"}, {"pattern", "^\\$[A-Za-z_][A-Za-z0-9_]*$"}}}};
  for (const auto& [name, family] : Catalog::all().families())
    definitions[name] = family_schema(name, family);
  if (layers.members.empty()) definitions[kLayerFamily] = Json::object();

  Json schema = closed_map(std::move(properties));
  schema["patternProperties"] = {{"^x-", Json::object()}};
  schema["if"] = {{"required", {"base"}}};
  schema["else"] = required_keys(root);
  schema["definitions"] = std::move(definitions);
  Json whole = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "A training run"}};
  whole.update(schema);
  return whole.dump(1) + "\n";
}

}  // namespace trainer
