#include "engine/config/checker.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "engine/config/corrections.h"
#include "engine/config/scalar.h"
#include "engine/config/synonyms.h"
#include "engine/config/yaml_reader.h"

namespace trainer {
namespace {

constexpr std::size_t kDeepestCheck = 200;  // levels after variables and blocks

std::string joined_path(const std::string& above, const std::string& key) {
  return above.empty() ? key : above + "." + key;
}

/// The member of the family at a path of keys; empty if there is none.
std::string member_at(const ConfigNode& root, std::string_view path) {
  const ConfigNode* node = &root;
  while (node != nullptr && !path.empty()) {
    node = node->child(path.substr(0, path.find('.')));
    path.remove_prefix(std::min(path.size(), path.find('.') == path.npos ? path.size() : path.find('.') + 1));
  }
  return node == nullptr ? "" : node->type;
}

bool holds_nodes(Setting::Kind kind) {
  return kind == Setting::Kind::family || kind == Setting::Kind::section || kind == Setting::Kind::list;
}

}  // namespace

void Checker::check_root(const Node& root, const std::vector<Setting>& settings, ConfigNode& out) {
  root_ = settings;
  root_node_ = &out;
  check_defaults();
  std::vector<Given> given;
  for (const NodeEntry& entry : root.entries)
    given.push_back({entry.key, entry.key_place, {&entry.value, expansion_.outermost()}});
  out.nearest = {root.place.source};
  check_keys("", pointers(settings), given, out);
  name_layers();
  if (!mistakes_.any()) expansion_.report_unused();
}

void Checker::check_value(const Setting& setting, const Node& value, ConfigNode& out) {
  out.nearest = {value.place.source};
  check(setting, {&value, expansion_.outermost()}, value.place, out);
  name_layers();
}

void Checker::check(const Setting& setting, Written written, const Place& key_place, ConfigNode& out) {
  out.setting = &setting;
  if (out.declared == nullptr) out.declared = &setting;
  out.given = static_cast<bool>(key_place);
  expansion_.spend(key_place);
  const Expansion::Resolved resolved = expansion_.resolve(written, out.nearest);
  if (resolved.value.node == nullptr) return;
  const Node& node = *resolved.value.node;
  place_at(node.place, out);
  if (node.form == Node::Form::null) {
    if (can_be_off(setting) && node.is_written_null()) {
      out.given = out.present = false;
      return;
    }
    std::vector<std::string> notes{"it requires " + form_words(setting)};
    if (can_be_off(setting) && !setting.name.empty())
      notes.push_back("`" + setting.name + ": ~` switches it off");
    mistakes_.add(key_place, subject(out) + " has no value", "", notes);
    return;
  }
  if (depth_ >= kDeepestCheck) {
    mistakes_.add(key_place, "nested deeper than " + std::to_string(kDeepestCheck) + " levels");
    return;
  }
  if (!resolved.awaited.empty()) {
    if (holds_nodes(setting.kind))
      mistakes_.add(node.place, subject(out) + " expects " + form_words(setting) + ", but `$" +
                                    resolved.awaited + "` is a number");
    out.awaited = resolved.value;
    return;
  }
  if (setting.kind != Setting::Kind::choice && check_word(setting, node, out)) return;
  ++depth_;
  switch (setting.kind) {
    case Setting::Kind::integers:
      check_integers(setting, resolved.value, out);
      break;
    case Setting::Kind::duration:
    case Setting::Kind::durations:
      check_duration(setting, resolved.value, out);
      break;
    case Setting::Kind::family:
      check_family(setting, resolved.value, out);
      break;
    case Setting::Kind::list:
      check_list(setting, resolved.value, out);
      break;
    case Setting::Kind::section:
      place_at(key_place, out);
      check_section(setting, resolved.value, out);
      break;
    case Setting::Kind::either:
      check_either(setting, resolved.value, key_place, out);
      break;
    default:
      check_scalar(setting, node, out);
  }
  --depth_;
}

void Checker::check_section(const Setting& setting, Written value, ConfigNode& out) {
  const Node& node = *value.node;
  const Settings settings = pointers(setting.nested);
  if (!node.is_map()) {
    const bool words = !setting.choices.empty();
    const std::string hint = corrected_section(setting, node);
    mistakes_.add(node.place,
                  subject(out) + " expects " + (words ? form_words(setting) : "a map") + ", got " +
                      (words && node.is_scalar() ? in_quotes(node.text) : node.form_name()),
                  hint.empty() ? meaning_of("value", node.text, setting.choices).hint : hint,
                  words || has_any_keys(setting) ? std::vector<std::string>{}
                                                 : std::vector{"it takes " + listed(names_of(settings), "")});
    return;
  }
  if (has_any_keys(setting)) {
    check_any_keys(setting.nested[0], value, out);
    return;
  }
  std::vector<Given> given;
  for (const NodeEntry& entry : node.entries)
    given.push_back({entry.key, entry.key_place, {&entry.value, value.scope}});
  check_keys(out.key, settings, given, out);
}

void Checker::check_any_keys(const Setting& setting, Written value, ConfigNode& out) {
  out.children.reserve(value.node->entries.size());
  for (const NodeEntry& entry : value.node->entries) {
    ConfigNode& child = out.children.emplace_back();
    child.key = entry.key;
    child.path = joined_path(out.path, entry.key);
    child.nearest = out.nearest;
    check(setting, {&entry.value, value.scope}, entry.key_place, child);
  }
}

void Checker::check_list(const Setting& setting, Written value, ConfigNode& out) {
  const Node& node = *value.node;
  const Setting& element = setting.nested.at(0);
  if (!node.is_list()) {
    double number = 0;
    const bool is_number = node.is_scalar() && !read_real(node, number);
    const std::string hint = node.is_scalar() ? meaning_of("value", node.text, setting.choices).hint : "";
    mistakes_.add(
        node.place,
        subject(out) + " expects a list, got " + (is_number ? in_quotes(node.text) : node.form_name()),
        node.is_scalar() ? std::string(hint.empty() ? "in brackets?" : hint)
        : node.is_map()  ? "a `- ` before each entry?"
                         : "");
    return;
  }
  std::vector<Written> items;
  const bool layers = element.kind == Setting::Kind::family && element.family_name == kLayerFamily;
  for (const Node& item : node.items) {
    if (layers && item.form != Node::Form::null)
      expansion_.unroll({&item, value.scope}, items);
    else
      items.push_back({&item, value.scope});
  }
  out.children.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    ConfigNode& child = out.children.emplace_back();
    child.path = out.path + "[" + std::to_string(i) + "]";
    child.nearest = out.nearest;
    check(element, items[i], items[i].node->place, child);
  }
}

void Checker::check_either(const Setting& setting, Written value, const Place& key_place, ConfigNode& out) {
  const Node& node = *value.node;
  const Setting* chosen = alternative(setting, node);
  if (chosen == nullptr) {
    // If only one alternative has this form of YAML, its own message is more precise.
    const auto same_form = [&](const Setting& one) {
      switch (one.kind) {
        case Setting::Kind::section:
        case Setting::Kind::duration:
        case Setting::Kind::durations:
          return node.is_map();
        case Setting::Kind::list:
          return node.is_list();
        case Setting::Kind::integers:
          return node.is_list() || node.is_scalar();
        case Setting::Kind::family:
          return node.is_map() || node.is_scalar();
        default:
          return node.is_scalar();
      }
    };
    const auto& all = setting.nested;
    if (std::count_if(all.begin(), all.end(), same_form) == 1)
      chosen = &*std::find_if(all.begin(), all.end(), same_form);
  }
  if (chosen == nullptr) {
    std::vector<std::string> words;
    for (const Setting& one : setting.nested)
      words.insert(words.end(), one.choices.begin(), one.choices.end());
    mistakes_.add(node.place,
                  subject(out) + " expects " + form_words(setting) + ", got " +
                      (node.is_scalar() ? in_quotes(node.text) : node.form_name()),
                  node.is_scalar() ? meaning_of("value", node.text, words).hint : "");
    return;
  }
  out.type = chosen->name;
  check(*chosen, value, key_place, out);
}

void Checker::unknown_member(const Setting& setting, const MemberChoice& choice) {
  if (setting.family_name == kLayerFamily && expansion_.is_block(choice.name)) {
    mistakes_.add(choice.place,
                  "block " + in_quotes(choice.name) + " is a list of layers, but one layer is expected here");
    return;
  }
  const Catalog::Family& family = Catalog::all().at(setting.family_name);
  if (report_renamed(choice.place, choice.name, renamed(choice.name, family))) return;
  std::vector<std::string> names = names_of(family);
  if (setting.family_name == kLayerFamily) {
    const std::vector<std::string> blocks = expansion_.block_names();
    names.insert(names.end(), blocks.begin(), blocks.end());
  }
  const std::size_t colon = choice.name.find(':');
  const bool glued = std::count(names.begin(), names.end(), choice.name.substr(0, colon)) > 0;
  const Meaning meant = meaning_of(setting.family_name, choice.name, names);
  std::vector<std::string> notes;
  if (!meant.is_certain()) notes = {"known: " + listed(names, "")};
  mistakes_.add(choice.place, "unknown " + setting.family_name + " " + in_quotes(choice.name),
                glued ? "a space after the colon?" : meant.hint, std::move(notes));
}

void Checker::check_family(const Setting& setting, Written value, ConfigNode& out) {
  const Catalog::Family& family = Catalog::all().at(setting.family_name);
  const Node& node = *value.node;
  const MemberChoice choice = member_choice(node);
  if (node.is_map() && node.entries.size() > 1) {
    std::vector<std::string> keys;
    for (const NodeEntry& entry : node.entries) keys.push_back(in_quotes(entry.key));
    const bool first_known = family.members.count(node.entries[0].key) > 0;
    mistakes_.add(node.entries[1].key_place,
                  "one " + setting.family_name + " is one key, got " + listed(keys),
                  first_known ? "a setting of " + node.entries[0].key + "? then in its map"
                              : corrected_choice(setting, node));
    return;
  }
  if (node.is_list() || (node.is_map() && node.entries.empty())) {
    mistakes_.add(node.place, subject(out) + " expects the name of " + with_article(setting.family_name) +
                                  ", got " + (node.is_list() ? "a list" : "an empty map"));
    return;
  }
  const auto member = family.members.find(choice.name);
  if (member == family.members.end()) {
    const bool is_block = setting.family_name == kLayerFamily && expansion_.is_block(choice.name);
    if (const std::string hint = is_block ? "" : corrected_choice(setting, node); !hint.empty())
      mistakes_.add(choice.place, "unknown " + setting.family_name + " " + in_quotes(choice.name), hint);
    else
      unknown_member(setting, choice);
    return;
  }
  out.type = choice.name;
  out.path = joined_path(out.path, choice.name);
  place_at(choice.place, out);
  std::vector<Given> given;
  if (!read_member(family, member->second, choice, value.scope, given)) return;
  if (setting.family_name == kLayerFamily) {
    note_layer(out, value.scope, given);
    add_layer_defaults(family, member->second, value.scope, given);
  }
  check_keys(choice.name, member_settings(family, member->second), given, out);
}

bool Checker::read_member(const Catalog::Family& family, const Declaration& member,
                          const MemberChoice& choice, const Scope* scope, std::vector<Given>& given) {
  if (choice.value == nullptr) return true;
  const Expansion::Resolved resolved = expansion_.resolve({choice.value, scope});
  if (resolved.value.node == nullptr) return false;
  const Node& node = *resolved.value.node;
  if (node.form == Node::Form::null) {
    std::vector<std::string> notes;
    if (choice.value == &node)
      notes = {"without settings it is written `" + choice.name + "`, not `" + choice.name + ":`"};
    mistakes_.add(choice.place, in_quotes(choice.name) + " has no value", "", notes);
    return false;
  }
  if (is_primary_value(family, member, node)) {
    given.push_back({member.primary, node.place, resolved.value});
    return true;
  }
  if (!node.is_map()) {
    const std::string got = node.is_scalar() ? in_quotes(node.text) : node.form_name();
    mistakes_.add(node.place, in_quotes(choice.name) + " expects a map of settings, got " + got,
                  corrected_member(member, node),
                  {choice.name + " takes " + listed(names_of(member_settings(family, member)), "")});
    return false;
  }
  const bool repeats = &family == &Catalog::all().family(kLayerFamily);
  for (const NodeEntry& entry : node.entries)
    if (!(repeats && entry.key == "repeat"))  // unrolled already
      given.push_back({entry.key, entry.key_place, {&entry.value, resolved.value.scope}});
  return true;
}

void Checker::check_keys(const std::string& title, const Settings& settings, const std::vector<Given>& given,
                         ConfigNode& out) {
  const std::vector<std::string> names = names_of(settings);
  std::set<std::string> suggested;
  std::map<std::string, const Given*> by_key;
  for (const Given& one : given) {
    if (const Setting* setting = find_setting(settings, one.key)) {
      if (!(can_be_off(*setting) && one.value.node->is_written_null())) by_key.emplace(one.key, &one);
      continue;
    }
    if (const std::string today = renamed(one.key, settings); report_renamed(one.key_place, one.key, today)) {
      suggested.insert(today);
      continue;
    }
    const Meaning meant = meaning_of_key(title, settings, given, one);
    suggested.insert(meant.name);
    std::vector<std::string> notes;
    if (!meant.is_certain())
      notes = {names.empty() ? title + " takes no settings"
                             : (title.empty() ? "known: " : title + " takes ") + listed(names, "")};
    mistakes_.add(one.key_place, "unknown key " + in_quotes(one.key) + (title.empty() ? "" : " in " + title),
                  meant.hint, std::move(notes));
  }
  out.children.reserve(settings.size() + 1);  // and a layer's name: nodes must not move
  for (const Setting* setting : settings) {
    ConfigNode& child = out.children.emplace_back();
    child.setting = setting;
    child.key = setting->name;
    child.path = joined_path(out.path, setting->name);
    child.nearest = out.nearest;
    child.present = false;
    const auto found = by_key.find(setting->name);
    const auto other = setting->excludes.empty() ? by_key.end() : by_key.find(setting->excludes);
    if (found != by_key.end() && other != by_key.end()) {
      // Reported once, at the later of the two.
      if (found->second->key_place.before(other->second->key_place)) continue;
      mistakes_.add(found->second->key_place,
                    "`" + setting->name + "` and `" + setting->excludes + "` exclude each other",
                    "write only one of them");
    }
    if (found != by_key.end()) {
      child.present = true;
      check(*setting, found->second->value, found->second->key_place, child);
    } else if (other != by_key.end()) {
      continue;
    } else if (!setting->default_yaml.empty()) {
      child.present = true;
      const std::size_t before = mistakes_.count();
      check(*setting, default_of(*setting), {}, child);
      if (mistakes_.count() != before)
        throw std::logic_error("the default of " + child.path + " is not valid");
    } else if ((setting->required || !setting->excludes.empty()) && suggested.count(setting->name) == 0) {
      const Setting* twin = setting->excludes.empty() ? nullptr : find_setting(settings, setting->excludes);
      if (twin == nullptr || out.child(twin->name) == nullptr)  // else reported with the first of the two
        missing_key(title, *setting, twin, out);
    }
  }
}

/// What an unknown key among others of a map was meant to be.
Meaning Checker::meaning_of_key(const std::string& title, const Settings& settings,
                                const std::vector<Given>& given, const Given& unknown) const {
  const Given* const before = &unknown == given.data() ? nullptr : &unknown - 1;
  if (std::string hint = corrected_comma(unknown.key, before ? before->value.node : nullptr,
                                         before ? find_setting(settings, before->key) : nullptr);
      !hint.empty())
    return {"", hint};
  if (std::string hint = member_as_key(unknown.key, settings); !hint.empty()) return {"", hint};
  const Meaning meant = meaning_of("key", unknown.key, names_of(settings));
  if (!meant.hint.empty() && (!title.empty() || !meant.is_guess)) return meant;
  const std::string path = path_of_meant_key(unknown.key, root_);
  const auto meant_as = [](const std::string& key) {
    return Meaning{"", "did you mean `" + key + "`?", true};
  };
  if (("." + path).find("." + title + ".") != std::string::npos) return meant_as(path);
  // "train" of `train_inputs`, "separator" of `label_separator`
  for (const Setting* setting : settings)
    if (setting->name.starts_with(unknown.key + "_") || setting->name.ends_with("_" + unknown.key))
      return meant_as(setting->name);
  return path.empty() ? meant : meant_as(path);
}

bool Checker::report_renamed(const Place& place, const std::string& former, const std::string& today) {
  if (!today.empty())
    mistakes_.add(place, in_quotes(former) + " is now called `" + today + "`", "write `" + today + "`");
  return !today.empty();
}

void Checker::missing_key(const std::string& title, const Setting& setting, const Setting* twin,
                          const ConfigNode& out) {
  std::vector<std::string> notes{"`" + setting.name + "`: " + setting.help};
  if (out.nearest && !out.nearest.source->remark.empty()) notes.push_back(out.nearest.source->remark);
  mistakes_.add(out.nearest,
                "missing key `" + setting.name + "`" + (twin ? " or `" + twin->name + "`" : "") +
                    (title.empty() ? "" : " in " + title),
                "", notes);
}

Written Checker::default_of(const Setting& setting) {
  auto& builtin = builtins_[&setting];
  if (builtin == nullptr) {
    builtin = std::make_unique<Builtin>();
    const auto& other = setting.default_with;
    const bool applies =
        other && root_node_ != nullptr && member_at(*root_node_, other->path) == other->member;
    builtin->source = {"default of " + setting.name, applies ? other->yaml : setting.default_yaml,
                       SourceText::Origin::builtin};
    builtin->node = parse_yaml(builtin->source);
  }
  return {&builtin->node, expansion_.outermost()};
}

void Checker::check_default(const Setting& setting, ConfigNode& out) {
  check(setting, default_of(setting), {}, out);
}

void Checker::define(const std::string& name, const std::string& value, ConfigNode& root) {
  expansion_.define(name, value);
  const auto complete = [&](auto&& self, ConfigNode& node) -> void {
    if (node.awaited.node != nullptr) {
      const Written awaited = node.awaited;
      node.awaited = {};
      const Place place = node.place;
      check(*node.setting, awaited, place, node);
      place_at(place, node);
    }
    for (ConfigNode& child : node.children) self(self, child);
  };
  complete(complete, root);
}

std::string Checker::flow_text(Written awaited) {
  const Expansion::Resolved resolved = expansion_.resolve(awaited);
  const Node& node = *resolved.value.node;
  std::string inner;
  for (const Node& item : node.items)
    inner += (inner.empty() ? "" : ", ") + flow_text({&item, resolved.value.scope});
  for (const NodeEntry& entry : node.entries)
    inner += (inner.empty() ? "" : ", ") + entry.key + ": " + flow_text({&entry.value, resolved.value.scope});
  return node.is_list() ? "[" + inner + "]" : node.is_map() ? "{" + inner + "}" : node.text;
}

void Checker::place_at(const Place& place, ConfigNode& out) const {
  if (!place) return;
  out.place = place;
  out.nearest = place;
}

std::string Checker::subject(const ConfigNode& out) const {
  if (!out.key.empty()) return "`" + out.key + "`";
  const std::size_t dot = out.path.rfind('.');
  return out.path.empty() ? "the value" : "`" + out.path.substr(dot + 1) + "`";
}

}  // namespace trainer
