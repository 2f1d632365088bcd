#include <fmt/format.h>

#include <algorithm>

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
  std::vector<std::string> words;
  for (const std::string& choice : setting.choices) words.push_back("`" + choice + "`");
  switch (setting.kind) {
    case Setting::Kind::family:
      words.push_back(link_to(setting.family_name));
      break;
    case Setting::Kind::list:
      words.push_back("a list, each: " + value_words(setting.nested.at(0)));
      break;
    case Setting::Kind::section:
      words.push_back("a map");
      break;
    case Setting::Kind::either:
      for (const Setting& one : setting.nested) words.push_back(value_words(one));
      break;
    default: {
      const std::string range = range_words(setting);
      return form_words(setting) + (range.empty() ? "" : ", " + range);
    }
  }
  return listed(words, "or");
}

std::string rows(const std::vector<Setting>& settings, const std::string& above) {
  std::string table;
  for (const Setting& setting : settings) {
    const std::string path = above + setting.name;
    std::string default_words = setting.required ? "required" : "none";
    if (!setting.default_yaml.empty()) default_words = "`" + setting.default_yaml + "`";
    if (const auto& other = setting.default_with)
      default_words += fmt::format("; `{}` with {}", other->yaml, other->member);
    if (!setting.excludes.empty()) default_words += ", or `" + above + setting.excludes + "`";
    table += "| `" + path + "` | " + cell(value_words(setting)) + " | " + cell(default_words) + " | " +
             cell(setting.help) + " |\n";
    if (setting.kind == Setting::Kind::section && !has_any_keys(setting))
      table += rows(setting.nested, path + ".");
    if (setting.kind == Setting::Kind::either)
      for (const Setting& one : setting.nested)
        if (one.kind == Setting::Kind::section) table += rows(one.nested, path + ".");
  }
  return table;
}

std::string table_of(const std::vector<Setting>& settings) {
  return "| key | value | default | meaning |\n|---|---|---|---|\n" + rows(settings, "") + "\n";
}

/// Adds "`data.dataset`" for every key of the settings that takes a member of the family.
void find_users(const std::string& family, const std::vector<Setting>& settings, const std::string& above,
                std::vector<std::string>& users, bool in_list = false) {
  for (const Setting& setting : settings) {
    const std::string path = in_list ? above : above.empty() ? setting.name : above + "." + setting.name;
    const std::string user = "`" + path + "`";
    if (setting.family_name == family && std::find(users.begin(), users.end(), user) == users.end())
      users.push_back(user);
    find_users(family, setting.nested, path, users, setting.kind == Setting::Kind::list);
  }
}

std::string users_of(const std::string& family, const std::vector<Setting>& root) {
  std::vector<std::string> users;
  find_users(family, root, "", users);
  for (const auto& [name, other] : Catalog::all().families()) {
    find_users(family, other.shared, name, users);
    for (const auto& [member_name, member] : other.members)
      find_users(family, member.settings, member_name, users);
  }
  return listed(users, "or");
}

/// The settings that every member takes: those of the family, and for layers `repeat`, which lists expand.
std::vector<Setting> shared_settings(const std::string& name, const Catalog::Family& family) {
  std::vector<Setting> shared = family.shared;
  if (name == kLayerFamily)
    shared.push_back(integer("repeat", "number of copies in a row").at_least(1).fallback("1"));
  return shared;
}

const char* const kHead = R"(# Keys of a configuration

`trainer schema --keys` generates this page from the declarations of all keys. `trainer check` checks files
against the same declarations, and `trainer schema` prints them as a JSON Schema for editors.

**Values.** A *member* of a family (a layer, a loss, an optimizer ...) is its name alone, or a map with
that one key: `relu`, `dense: {units: 10, bias: false}`. If a member has a primary setting, its value can
stand alone: `dense: 10`. Where one number means both height and width, a list gives them separately:
`kernel: [3, 5]`. Numbers are decimal (`0.1`, `1e-3`), booleans are `true` and `false`. A key that is
unknown, duplicate or unused is an error with its file and line.

**Variables.** `$name` stands for a value: an argument of the block around it, else an entry of `vars`,
else `$classes` or `$vocab`, which follow from the data. With `vars: {width: 64}`, `dense: $width` has 64 units.

**Blocks.** `blocks` defines layers that consist of layers. `args` lists their arguments with defaults; `~`
means required. `repeat` inserts a layer or a block several times.

    blocks:
      unit:
        args: {filters: ~, rate: 0.1}
        layers: [{conv: {filters: $filters, kernel: 3, pad: same}}, relu, {dropout: $rate}]
    model:
      layers: [{unit: {filters: 16, repeat: 2}}, {dense: 10}]

**Defaults.** `defaults` holds settings for all layers (`init`) or for all layers of a type:
`defaults: {init: he, conv: {bias: false}}`. A layer's own setting overrides a default.

**Files.** `base: other.yaml` inherits another file; its path is relative to this file. Maps merge. Lists,
other values and members of another name replace the inherited value. Base files must be in the folder of the
configuration or below it. Of several files on the command line, `trainer a.yaml b.yaml`, each changes keys of
those before it, by the same rules. Top-level keys that begin with `x-` are free, for anchors (`&name`, `*name`) and
merges (`<<: *name`).

**Environment.** `${NAME}` in a value is an environment variable, `${NAME:-fallback}` one that may be unset or
empty, and `$${` a literal `${`. Inside of `{}` and `[]` YAML requires quotes: `{path: "${DATA}"}`. The value
is a number, a boolean or a text.

**Command line.** `-s KEY=VALUE` changes one key and is checked like the file:
`-s train.optimizer.sgd.lr=0.1`, `-s model.layers[2].conv.kernel=3`, `-s vars.width=64`. VALUE is YAML and
replaces the old value. `~` switches off a key without a default, here and in a file: `-s train.warmup=~`.
Layers are counted from 0.

)";

}  // namespace

std::string key_reference(const std::vector<Setting>& root) {
  std::string text = kHead;
  for (const Setting& setting : root) {
    text += "## " + setting.name + "\n\n" + setting.help + "\n\n";
    text += table_of(setting.kind == Setting::Kind::section ? setting.nested : std::vector<Setting>{setting});
  }
  for (const auto& [name, family] : Catalog::all().families()) {
    if (family.members.empty()) continue;
    text += "## " + name + "\n\n";
    if (const std::string users = users_of(name, root); !users.empty()) text += "For " + users + ".\n\n";
    if (const std::vector<Setting> shared = shared_settings(name, family); !shared.empty())
      text += "All of them take:\n\n" + table_of(shared);
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
