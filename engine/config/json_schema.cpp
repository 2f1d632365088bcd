#include <algorithm>
#include <cmath>
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

/// 1 rather than 1.0.
Json bound(double value) {
  if (std::abs(value) < 1e15 && value == std::trunc(value)) return static_cast<std::int64_t>(value);
  return value;
}

Json with_range(Json schema, const Setting& setting) {
  if (setting.minimum)
    schema[setting.above_minimum ? "exclusiveMinimum" : "minimum"] = bound(*setting.minimum);
  if (setting.maximum)
    schema[setting.below_maximum ? "exclusiveMaximum" : "maximum"] = bound(*setting.maximum);
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
      if (has_any_keys(setting))
        return {{{"type", "object"}, {"additionalProperties", schema_of(setting.nested[0])}}};
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

/// The definition of a scalar or `$name`; empty for other kinds. Ranges stand beside it: they ignore texts.
std::string scalar_definition(const Setting& setting) {
  if (!setting.choices.empty()) return "";
  switch (setting.kind) {
    case Setting::Kind::boolean:
      return "boolean";
    case Setting::Kind::integer:
      return "integer";
    case Setting::Kind::real:
      return "number";
    case Setting::Kind::text:
      return "text";
    default:
      return "";
  }
}

Json value_schema(const Setting& setting) {
  // draft-07 ignores keys beside $ref, but not beside allOf.
  const Json off = {{"type", "null"}};
  if (const std::string scalar = scalar_definition(setting); !scalar.empty()) {
    const Json form = can_be_off(setting) ? Json{{"anyOf", {reference_to(scalar), off}}}
                                          : Json{{"allOf", {reference_to(scalar)}}};
    return with_range(form, setting);
  }
  std::vector<Json> forms = forms_of(setting);
  if (!setting.choices.empty()) forms.push_back({{"enum", setting.choices}});
  if (setting.kind != Setting::Kind::section) forms.push_back(reference_to("name"));
  if (can_be_off(setting)) forms.push_back(off);
  return any_of(std::move(forms));
}

Json schema_of(const Setting& setting) {
  Json schema = value_schema(setting);
  if (!setting.help.empty()) schema["description"] = setting.help;
  if (!setting.default_yaml.empty()) {
    const SourceText text{"", setting.default_yaml, SourceText::Origin::builtin};
    schema["default"] = value_of(parse_yaml(text));
  }
  return schema;
}

/// The name of the definition that holds a member's map of settings, or a setting that all members share.
std::string part_of(const std::string& family, const std::string& part) { return family + "." + part; }

/// What a family's members share is defined once, each by itself.
void define_shared(const std::string& name, const Catalog::Family& family, Json& definitions) {
  for (const Setting& setting : family.shared) definitions[part_of(name, setting.name)] = schema_of(setting);
  if (name == kLayerFamily)
    definitions[part_of(name, "repeat")] =
        any_of({{{"type", "integer"}, {"minimum", 1}}, reference_to("name")});
}

/// The map of a member's settings: for its place in a list, for `defaults`, and for its primary setting.
Json settings_schema(const std::string& family_name, const Catalog::Family& family,
                     const Declaration& member) {
  Json properties = keys_of(member.settings);
  for (const Setting& setting : family.shared)
    properties[setting.name] = reference_to(part_of(family_name, setting.name));
  if (family_name == kLayerFamily) properties["repeat"] = reference_to(part_of(family_name, "repeat"));
  return closed_map(std::move(properties));
}

Json member_schema(const std::string& family_name, const Declaration& member) {
  const std::string settings = part_of(family_name, member.name);
  std::vector<Json> forms{reference_to(settings)};
  if (!member.primary.empty()) forms.push_back(reference_to(settings + "/properties/" + member.primary));
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
    properties[member_name] = member_schema(name, member);
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

std::string in_a_line(const Json& value) {
  if (!value.is_structured()) return value.dump();
  std::string inner;
  for (const auto& [key, below] : value.items())
    inner +=
        (inner.empty() ? "" : ", ") + (value.is_object() ? Json(key).dump() + ": " : "") + in_a_line(below);
  return value.is_object() ? "{" + inner + "}" : "[" + inner + "]";
}

bool has_properties(const Json& schema) {
  if (schema.is_object() && schema.contains("properties")) return true;
  return schema.is_structured() && std::ranges::any_of(schema, has_properties);
}

/// JSON with a setting on a line: what is too long for a line is broken where it holds settings.
std::string written(const Json& value, std::size_t indent, std::size_t column, bool is_map_of_schemas) {
  constexpr std::size_t kWidth = 120;
  const std::string line = in_a_line(value);
  const bool has_one_setting = !is_map_of_schemas && value.contains("properties") &&
                               value["properties"].size() == 1 && !has_properties(value["properties"]);
  if (column + line.size() <= kWidth || has_one_setting || !(is_map_of_schemas || has_properties(value)))
    return line;
  const std::string pad(indent + 1, ' ');
  std::string inner;
  for (const auto& [key, below] : value.items()) {
    const std::string head = pad + (value.is_object() ? Json(key).dump() + ": " : "");
    const bool schemas = !is_map_of_schemas && (key == "properties" || key == "definitions");
    inner += (inner.empty() ? "" : ",\n") + head + written(below, indent + 1, head.size(), schemas);
  }
  inner = "\n" + inner + "\n" + std::string(indent, ' ');
  return value.is_object() ? "{" + inner + "}" : "[" + inner + "]";
}

}  // namespace

std::string json_schema(const std::vector<Setting>& root) {
  Json properties = keys_of(root);
  const Catalog::Family& layers = Catalog::all().family(kLayerFamily);
  Json defaults = Json::object();
  for (const Setting& setting : layers.shared)
    if (setting.name != "name") defaults[setting.name] = reference_to(part_of(kLayerFamily, setting.name));
  for (const auto& [name, member] : layers.members)
    defaults[name] = {{"allOf", {reference_to(part_of(kLayerFamily, name)), reference_to("defaults")}}};
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

  Json definitions = {{"name", {{"type", "string"}, {"pattern", "^\\$[A-Za-z_][A-Za-z0-9_]*$|\\$\\{"}}},
                      {"text", {{"type", {"string", "number", "boolean"}}}}};
  for (const char* const type : {"boolean", "integer", "number"})
    definitions[type] = any_of({{{"type", type}}, reference_to("name")});
  definitions["defaults"] = {{"properties", {{"name", false}, {"repeat", false}}}};  // only a layer has them
  for (const auto& [name, family] : Catalog::all().families()) {
    definitions[name] = family_schema(name, family);
    define_shared(name, family, definitions);
    for (const auto& [member_name, member] : family.members)
      definitions[part_of(name, member_name)] = settings_schema(name, family, member);
  }
  if (layers.members.empty()) definitions[kLayerFamily] = Json::object();

  Json schema = closed_map(std::move(properties));
  schema["patternProperties"] = {{"^x-", Json::object()}};
  schema["if"] = {{"required", {"base"}}};
  schema["else"] = required_keys(root);
  schema["definitions"] = std::move(definitions);
  Json whole = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "A training run"}};
  whole.update(schema);
  return written(whole, 0, 0, false) + "\n";
}

}  // namespace trainer
