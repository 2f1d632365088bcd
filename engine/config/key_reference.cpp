#include "engine/config/config_tree.h"
#include "engine/config/declared.h"
#include "engine/config/scalar.h"

namespace trainer {
namespace {

/// A vertical bar would end the table's cell.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : c == '\n' ? " " : std::string(1, c);
  return result;
}

std::string link_to(const std::string& family) { return "[" + with_article(family) + "](#" + family + ")"; }

std::string value_words(const Setting& setting) {
  switch (setting.kind) {
    case Setting::Kind::family:
      return link_to(setting.family_name);
    case Setting::Kind::list:
      return "a list, each: " + value_words(setting.nested.at(0));
    case Setting::Kind::section:
      return "a map";
    case Setting::Kind::either: {
      std::vector<std::string> words;
      for (const Setting& one : setting.nested) words.push_back(value_words(one));
      return listed(words, "or");
    }
    default: {
      const std::string range = range_words(setting);
      return form_words(setting) + (range.empty() ? "" : ", " + range);
    }
  }
}

std::string rows(const std::vector<Setting>& settings, const std::string& above) {
  std::string table;
  for (const Setting& setting : settings) {
    const std::string path = above + setting.name;
    std::string default_words = setting.required ? "required" : "none";
    if (!setting.default_yaml.empty()) default_words = "`" + setting.default_yaml + "`";
    if (!setting.excludes.empty()) default_words += ", or `" + above + setting.excludes + "`";
    table += "| `" + path + "` | " + cell(value_words(setting)) + " | " + cell(default_words) + " | " +
             cell(setting.help) + " |\n";
    if (setting.kind == Setting::Kind::section) table += rows(setting.nested, path + ".");
    if (setting.kind == Setting::Kind::either)
      for (const Setting& one : setting.nested)
        if (one.kind == Setting::Kind::section) table += rows(one.nested, path + ".");
  }
  return table;
}

std::string table_of(const std::vector<Setting>& settings) {
  return "| key | value | default | meaning |\n|---|---|---|---|\n" + rows(settings, "") + "\n";
}

}  // namespace

std::string key_reference(const std::vector<Setting>& root) {
  std::string text =
      "# Keys of a configuration\n\n"
      "Made by the program from what its parts declare. `$name` may stand for any value: an argument of the\n"
      "block, an entry of `vars`, `$classes` or `$vocab`. Beside the keys below, a file may have `base` "
      "(the\n"
      "name of a file that it changes), `vars`, `blocks`, `defaults`, and keys that begin with `x-`.\n\n";
  for (const Setting& setting : root) {
    text += "## " + setting.name + "\n\n" + setting.help + "\n\n";
    text += table_of(setting.kind == Setting::Kind::section ? setting.nested : std::vector<Setting>{setting});
  }
  for (const auto& [name, family] : Catalog::all().families()) {
    if (family.members.empty()) continue;
    text += "## " + name + "\n\n";
    if (!family.shared.empty()) {
      std::vector<std::string> shared;
      for (const Setting& setting : family.shared) shared.push_back("`" + setting.name + "`");
      text += "Each also takes " + listed(shared) + ":\n\n" + table_of(family.shared);
    }
    for (const auto& [member_name, member] : family.members) {
      text += "### " + member_name + "\n\n" + member.help + "\n\n";
      if (!member.primary.empty()) text += "`" + member_name + ": value` sets `" + member.primary + "`.\n\n";
      if (!member.settings.empty()) text += table_of(member.settings);
    }
  }
  while (text.size() > 1 && text[text.size() - 2] == '\n') text.pop_back();
  return text;
}

}  // namespace trainer
