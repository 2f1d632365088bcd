#include "engine/config/declared.h"

#include <algorithm>

#include "engine/config/scalar.h"

namespace trainer {
namespace {

bool is_number(const Node& node) {
  double value = 0;
  return node.is_reference() || !read_real(node, value);
}

bool is_duration(const Node& node) {
  return node.is_map() && node.entries.size() == 1 &&
         (node.entries[0].key == "epochs" || node.entries[0].key == "steps");
}

std::vector<std::string> words_of(const Setting& setting) {
  std::vector<std::string> words;
  switch (setting.kind) {
    case Setting::Kind::boolean:
      words = {"true or false"};
      break;
    case Setting::Kind::integer:
      words = {"a whole number"};
      break;
    case Setting::Kind::real:
      words = {"a number"};
      break;
    case Setting::Kind::text:
      words = {"a text"};
      break;
    case Setting::Kind::choice:
      break;
    case Setting::Kind::integers:
      words = {"a whole number",
               "a list of " + (setting.count > 0 ? std::to_string(setting.count) : std::string("them"))};
      break;
    case Setting::Kind::duration:
      words = {"{epochs: n}", "{steps: n}"};
      break;
    case Setting::Kind::durations:
      words = {"{epochs: [n, ...]}", "{steps: [n, ...]}"};
      break;
    case Setting::Kind::family:
      words = {with_article(setting.family_name)};
      break;
    case Setting::Kind::list:
      words = {"a list"};
      break;
    case Setting::Kind::section:
      words = {has_any_keys(setting) ? "a map" : "a map of " + listed(names_of(pointers(setting.nested)))};
      break;
    case Setting::Kind::either:
      for (const Setting& one : setting.nested)
        for (std::string& word : words_of(one)) words.push_back(std::move(word));
      break;
  }
  for (const std::string& choice : setting.choices) words.push_back("`" + choice + "`");
  return words;
}

}  // namespace

Settings pointers(const std::vector<Setting>& settings) {
  Settings result;
  for (const Setting& setting : settings) result.push_back(&setting);
  return result;
}

Settings member_settings(const Catalog::Family& family, const Declaration& member) {
  Settings result = pointers(member.settings);
  for (const Setting& setting : family.shared) result.push_back(&setting);
  return result;
}

const Setting* find_setting(const Settings& settings, std::string_view name) {
  for (const Setting* setting : settings)
    if (setting->name == name) return setting;
  return nullptr;
}

std::vector<std::string> names_of(const Settings& settings) {
  std::vector<std::string> names;
  for (const Setting* setting : settings) names.push_back(setting->name);
  return names;
}

std::string renamed(std::string_view name, const Settings& settings) {
  const auto found = std::ranges::find(settings, name, &Setting::former_name);
  return name.empty() || found == settings.end() ? "" : (*found)->name;
}

std::string renamed(std::string_view name, const Catalog::Family& family) {
  for (const auto& [today, member] : family.members)
    if (!name.empty() && member.former_name == name) return today;
  return "";
}

std::string path_of_key(std::string_view name, const std::vector<Setting>& root) {
  for (const Setting& section : root)
    if (find_setting(pointers(section.nested), name) != nullptr)
      return section.name + "." + std::string(name);
  for (const Setting& section : root)
    for (const Setting& one : section.nested)
      if (one.kind == Setting::Kind::section && find_setting(pointers(one.nested), name) != nullptr)
        return section.name + "." + one.name + "." + std::string(name);
  for (const Setting& section : root)
    for (const Setting& one : section.nested) {
      if (one.kind != Setting::Kind::family) continue;
      std::vector<std::string> holders;
      for (const auto& [member_name, member] : Catalog::all().at(one.family_name).members)
        if (find_setting(pointers(member.settings), name) != nullptr) holders.push_back(member_name);
      if (!holders.empty())
        return section.name + "." + one.name + "." + (holders.size() == 1 ? holders[0] : "NAME") + "." +
               std::string(name);
    }
  return "";
}

std::vector<std::string> names_of(const Catalog::Family& family) {
  std::vector<std::string> names;
  for (const auto& [name, member] : family.members) names.push_back(name);
  return names;
}

MemberChoice member_choice(const Node& node) {
  if (node.is_scalar()) return {node.text, node.place, nullptr};
  if (node.is_map() && node.entries.size() == 1)
    return {node.entries[0].key, node.entries[0].key_place, &node.entries[0].value};
  return {};
}

bool fits(const Setting& setting, const Node& node) {
  const auto& words = setting.choices;
  const bool word = node.is_scalar() && std::find(words.begin(), words.end(), node.text) != words.end();
  if (word) return true;
  bool truth = false;
  switch (setting.kind) {
    case Setting::Kind::boolean:
      return node.is_reference() || !read_boolean(node, truth);
    case Setting::Kind::integer:
    case Setting::Kind::real:
      return is_number(node);
    case Setting::Kind::text:
      return node.is_scalar();
    case Setting::Kind::choice:
      return node.is_reference();
    case Setting::Kind::integers:
      return node.is_list() || is_number(node);
    case Setting::Kind::duration:
      return is_duration(node) && !node.entries[0].value.is_list();
    case Setting::Kind::durations:
      return is_duration(node);
    case Setting::Kind::family: {
      const MemberChoice choice = member_choice(node);
      if (setting.family_name == kLayerFamily) return !choice.name.empty();  // it may be a block's
      return Catalog::all().at(setting.family_name).members.count(choice.name) > 0;
    }
    case Setting::Kind::list:
      return node.is_list();
    case Setting::Kind::section:
      return node.is_map();
    case Setting::Kind::either:
      return alternative(setting, node) != nullptr;
  }
  return false;
}

bool is_primary_value(const Catalog::Family& family, const Declaration& member, const Node& node) {
  if (member.primary.empty()) return false;
  if (!node.is_map()) return true;
  const Settings settings = member_settings(family, member);
  for (const NodeEntry& entry : node.entries)
    if (entry.key == "repeat" || find_setting(settings, entry.key) != nullptr) return false;
  const Setting* primary = find_setting(settings, member.primary);
  return primary != nullptr && !node.entries.empty() && fits(*primary, node);
}

const Setting* alternative(const Setting& either, const Node& node) {
  for (const Setting& one : either.nested)
    if (fits(one, node)) return &one;
  return nullptr;
}

bool has_any_keys(const Setting& section) {
  return section.kind == Setting::Kind::section && section.nested.size() == 1 &&
         section.nested[0].name == kAnyKey;
}

bool can_be_off(const Setting& setting) {
  return setting.default_yaml.empty() && (!setting.required || !setting.excludes.empty());
}

std::string with_article(const std::string& noun) {
  return (noun.find_first_of("aeiou") == 0 ? "an " : "a ") + noun;
}

std::string form_words(const Setting& setting) { return listed(words_of(setting), "or"); }

}  // namespace trainer
