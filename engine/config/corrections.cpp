#include "engine/config/corrections.h"

#include <algorithm>

#include "engine/config/scalar.h"
#include "engine/config/source.h"
#include "engine/config/synonyms.h"

namespace trainer {
namespace {

bool is_digits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

bool is_integer(const Node& node) {
  std::int64_t value = 0;
  return node.is_scalar() && !read_integer(node, value);
}

std::string shown(const Node& node) {
  return node.is_scalar() ? node.text : node.is_list() ? "[...]" : "{...}";
}

}  // namespace

std::string corrected_member(const Declaration& member, const Node& value) {
  if (!value.is_scalar()) return "";
  const Setting* meant = nullptr;
  std::string others;
  for (const Setting& setting : member.settings) {
    if (meant == nullptr && setting.kind != Setting::Kind::text && fits(setting, value))
      meant = &setting;
    else if (setting.required && setting.default_yaml.empty())
      others += ", " + setting.name + ": ...";
  }
  if (meant == nullptr) return "";
  return "write `" + member.name + ": {" + meant->name + ": " + value.text + others + "}`";
}

std::string corrected_choice(const Setting& family_setting, const Node& node) {
  static const std::vector<std::string> selectors{"type", "name", "kind", "class", "class_name", "method"};
  const auto selector = std::ranges::find_if(node.entries, [](const NodeEntry& entry) {
    return std::ranges::count(selectors, entry.key) > 0 && entry.value.is_scalar();
  });
  if (selector == node.entries.end()) return "";
  const std::vector<std::string> names = names_of(Catalog::all().at(family_setting.family_name));
  const std::string member = std::ranges::count(names, selector->value.text) > 0
                                 ? selector->value.text
                                 : meaning_of(family_setting.family_name, selector->value.text, names).name;
  if (member.empty()) return "";
  std::string settings;
  for (const NodeEntry& entry : node.entries)
    if (&entry != &*selector)
      settings += (settings.empty() ? "" : ", ") + entry.key + ": " + shown(entry.value);
  return "write `" + member + (settings.empty() ? "`" : ": {" + settings + "}`");
}

std::string corrected_section(const Setting& section, const Node& value) {
  const auto written = [&](const std::string& inner) {
    return "write `" + section.name + ": {" + inner + "}`";
  };
  if (value.is_scalar() && value.text == "true" &&
      std::ranges::all_of(section.nested,
                          [](const Setting& one) { return !one.required || !one.default_yaml.empty(); }))
    return written("") + ", which takes its defaults";
  const Setting* number = nullptr;
  for (const Setting& one : section.nested) {
    if (one.kind == Setting::Kind::family && value.is_scalar() &&
        Catalog::all().at(one.family_name).members.contains(value.text))
      return written(one.name + ": " + value.text);
    if (one.kind == Setting::Kind::list && value.is_list()) return written(one.name + ": [...]");
    if (one.kind == Setting::Kind::text && one.required && value.is_scalar() && !is_integer(value))
      return written(one.name + ": " + value.text);
    if (one.kind == Setting::Kind::integer && (number == nullptr || one.name == "epochs")) number = &one;
  }
  return number != nullptr && is_integer(value) ? written(number->name + ": " + value.text) : "";
}

std::string member_as_key(const std::string& key, const Settings& settings) {
  for (const Setting* setting : settings) {
    const bool listed = setting->kind == Setting::Kind::list;
    const Setting& one = listed ? setting->nested.at(0) : *setting;
    if (one.kind != Setting::Kind::family || !Catalog::all().at(one.family_name).members.contains(key))
      continue;
    return in_quotes(key) + " is " + with_article(one.family_name) +
           (listed ? ": it belongs in the list `" + setting->name + "`"
                   : ": write `" + setting->name + ": {" + key + ": ...}`");
  }
  return "";
}

std::string corrected_comma(const std::string& key, const Node* value_before, const Setting* setting_before) {
  if (!is_digits(key) || value_before == nullptr || setting_before == nullptr) return "";
  if (!value_before->is_scalar() || !is_digits(value_before->text)) return "";
  if (setting_before->kind == Setting::Kind::real)
    return "a comma, not a point? write `" + setting_before->name + ": " + value_before->text + "." + key +
           "`";
  if (setting_before->kind == Setting::Kind::integer)
    return key.size() == 3 ? "write `" + setting_before->name + ": " + value_before->text + key + "`" : "";
  return "in brackets? write `" + setting_before->name + ": [" + value_before->text + ", " + key + "]`";
}

}  // namespace trainer
