#include "engine/config/layering.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "engine/config/declared.h"
#include "engine/config/yaml_reader.h"

namespace trainer {
namespace {

/// The keys that a map may hold, as far as they are declared as settings.
struct Keys {
  enum class Map { other, root, defaults, blocks };
  Settings settings;
  Map map = Map::other;

  const Setting* find(std::string_view key) const { return find_setting(settings, key); }
};

Keys keys_of_member(const Catalog::Family& family, const std::string& name) {
  const auto member = family.members.find(name);
  return member == family.members.end() ? Keys{} : Keys{member_settings(family, member->second)};
}

/// The keys of a map that is no value of a setting: maps below `defaults` and `blocks` hold layers, too.
Keys keys_below(const Keys& keys, const std::string& key) {
  static const Setting layers_of_block = list_of("layers", "", family("", "", kLayerFamily));
  const Catalog::Family& layer = Catalog::all().family(kLayerFamily);
  if (keys.map == Keys::Map::root && key == "defaults") return {pointers(layer.shared), Keys::Map::defaults};
  if (keys.map == Keys::Map::root && key == "blocks") return {{}, Keys::Map::blocks};
  if (keys.map == Keys::Map::defaults) return keys_of_member(layer, key);
  if (keys.map == Keys::Map::blocks) return {{&layers_of_block}};
  return {};
}

const Declaration* member_of(const Setting& family_setting, const std::string& name) {
  const Catalog::Family& family = Catalog::all().at(family_setting.family_name);
  const auto member = family.members.find(name);
  return member == family.members.end() ? nullptr : &member->second;
}

void take_out(Node& map, const std::string& key) {
  auto& entries = map.entries;
  entries.erase(
      std::remove_if(entries.begin(), entries.end(), [&](const NodeEntry& e) { return e.key == key; }),
      entries.end());
}

/// Makes sure that a member's value is a map of settings: `dense: 10` becomes `dense: {units: 10}`.
void spell_out(const Setting& family_setting, NodeEntry& choice) {
  const Declaration* member = member_of(family_setting, choice.key);
  const Catalog::Family& family = Catalog::all().at(family_setting.family_name);
  Node& value = choice.value;
  if (value.form == Node::Form::null) {
    value = {.form = Node::Form::map, .place = choice.key_place};
  } else if (member != nullptr && is_primary_value(family, *member, value)) {
    Node map{.form = Node::Form::map, .place = value.place};
    map.entries.push_back({member->primary, value.place, std::move(value)});
    value = std::move(map);
  }
}

/// `sgd` becomes `sgd: {}`.
void spell_out(const Setting& family_setting, Node& node) {
  if (node.is_scalar()) {
    Node map{.form = Node::Form::map, .place = node.place};
    map.entries.push_back({node.text, node.place, Node{.form = Node::Form::map, .place = node.place}});
    node = std::move(map);
  } else if (node.is_map() && node.entries.size() == 1) {
    spell_out(family_setting, node.entries[0]);
  }
}

Node lay(Node below, Node over, const Setting* setting, const Keys& keys);

Node lay_maps(Node below, Node over, const Keys& keys) {
  for (NodeEntry& entry : over.entries) {
    const Setting* setting = keys.find(entry.key);
    if (setting != nullptr && !setting->excludes.empty() && !entry.value.is_written_null())
      take_out(below, setting->excludes);
    NodeEntry* const old = below.find(entry.key);
    if (old == nullptr) {
      below.entries.push_back(std::move(entry));
      continue;
    }
    old->key_place = entry.key_place;
    old->value = lay(std::move(old->value), std::move(entry.value), setting, keys_below(keys, entry.key));
  }
  below.place = over.place;
  return below;
}

Node lay(Node below, Node over, const Setting* setting, const Keys& keys) {
  if (setting != nullptr && setting->kind == Setting::Kind::either) {
    const Setting* chosen = alternative(*setting, over);
    return chosen == alternative(*setting, below) ? lay(std::move(below), std::move(over), chosen, keys)
                                                  : over;
  }
  if (setting != nullptr && setting->kind == Setting::Kind::family) {
    const std::string name = member_choice(over).name;
    if (name.empty() || name != member_choice(below).name || over.is_reference()) return over;
    const Declaration* member = member_of(*setting, name);
    if (member == nullptr) return over;
    spell_out(*setting, below);
    spell_out(*setting, over);
    Node& value = over.entries[0].value;
    if (!value.is_map() || !below.entries[0].value.is_map()) return over;
    value = lay_maps(std::move(below.entries[0].value), std::move(value),
                     keys_of_member(Catalog::all().at(setting->family_name), name));
    return over;
  }
  if (!below.is_map() || !over.is_map()) return over;
  if (setting == nullptr) return lay_maps(std::move(below), std::move(over), keys);
  if (setting->kind == Setting::Kind::section)
    return lay_maps(std::move(below), std::move(over), {pointers(setting->nested)});
  return over;
}

/// "model.layers[2].conv" as its steps: model, layers, [2], conv.
struct Step {
  std::string key;
  std::optional<std::size_t> index;
};

class Override {
 public:
  Override(SourceText& text, std::vector<std::unique_ptr<SourceText>>& texts)
      : text_(text), place_{&text}, texts_(texts) {
    check_override(text);
    const std::size_t equals = text.text.find('=');
    read_path(std::string_view(text.text).substr(0, equals));
    value_ = read(text.text.substr(equals + 1), SourceText::Origin::command_line);
    replace_places(value_);
  }

  /// Returns what it replaced besides the value at the end of its path; empty when nothing.
  std::string apply(Node& tree, const std::vector<Setting>& root) {
    if (steps_[0].key == "base") fail("-s cannot set `base`");
    set_in_map(tree, {pointers(root), Keys::Map::root}, 0);
    return note_;
  }

 private:
  [[noreturn]] void fail(std::string what, const std::string& hint = "") const {
    throw Error(ExitCode::usage, {diagnostic_at(place_, std::move(what), hint)});
  }

  Node read(const std::string& yaml, SourceText::Origin origin) {
    texts_.push_back(std::make_unique<SourceText>(SourceText{place_.source->name, yaml, origin}));
    return parse_yaml(*texts_.back());
  }

  void replace_places(Node& node) const {
    node.place = place_;
    for (Node& item : node.items) replace_places(item);
    for (NodeEntry& entry : node.entries) {
      entry.key_place = place_;
      replace_places(entry.value);
    }
  }

  void read_path(std::string_view path) {
    const auto wrong = [&] {
      fail("not a path: " + in_quotes(path),
           "write it like train.optimizer.sgd.lr or model.layers[2].conv.kernel");
    };
    while (true) {
      const std::size_t end = std::min(path.find_first_of(".["), path.size());
      if (end == 0) wrong();
      steps_.push_back({std::string(path.substr(0, end)), {}});
      path.remove_prefix(end);
      while (!path.empty() && path[0] == '[') {
        const std::size_t close = path.find(']');
        std::size_t index = 0;
        if (close == std::string_view::npos) wrong();
        const auto read = std::from_chars(path.data() + 1, path.data() + close, index);
        if (read.ec != std::errc() || read.ptr != path.data() + close) wrong();
        steps_.push_back({"", index});
        path.remove_prefix(close + 1);
      }
      if (path.empty()) break;
      if (path[0] != '.') wrong();
      path.remove_prefix(1);
    }
    if (steps_.size() > kDeepestNode) fail("the path has too many steps");
  }

  /// The path up to and with a step, for messages.
  std::string path_to(std::size_t step) const {
    std::string path;
    for (std::size_t i = 0; i <= step && i < steps_.size(); ++i)
      path += steps_[i].index ? "[" + std::to_string(*steps_[i].index) + "]"
                              : (path.empty() ? "" : ".") + steps_[i].key;
    return path;
  }

  void make_map(Node& node) const { node = {.form = Node::Form::map, .place = place_}; }

  /// Steps from `map` on to steps_[at], which is one of its keys.
  void set_in_map(Node& map, const Keys& keys, std::size_t at) {
    const Step& step = steps_[at];
    if (step.index) fail(in_quotes(path_to(at - 1)) + " is a map, not a list");
    const Setting* setting = keys.find(step.key);
    if (setting != nullptr && !setting->excludes.empty() && !value_.is_written_null())
      take_out(map, setting->excludes);
    NodeEntry* entry = map.find(step.key);
    if (entry != nullptr && at + 1 == steps_.size()) entry->key_place = place_;
    if (entry == nullptr) {
      entry = &map.entries.emplace_back(NodeEntry{step.key, place_, {}});
      if (at + 1 < steps_.size() && setting != nullptr && !setting->default_yaml.empty())
        entry->value = read(setting->default_yaml, SourceText::Origin::builtin);
    }
    set(entry->value, setting, keys_below(keys, step.key), at + 1);
  }

  /// Replaces `node` where the path ends, or continues below it.
  void set(Node& node, const Setting* setting, const Keys& keys, std::size_t at) {
    if (at == steps_.size()) {
      node = std::move(value_);
      return;
    }
    const Step& step = steps_[at];
    if (setting != nullptr && setting->kind == Setting::Kind::either) {
      const Setting* chosen = node.form == Node::Form::null ? nullptr : alternative(*setting, node);
      for (const Setting& one : setting->nested)
        if (chosen == nullptr || (!step.index && !reaches(*chosen) && reaches(one))) chosen = &one;
      set(node, chosen, keys, at);
      return;
    }
    if (step.index) {
      set_in_list(node, setting, at);
    } else if (setting == nullptr) {
      if (node.form == Node::Form::null) make_map(node);
      if (!node.is_map()) nothing_below(at);
      set_in_map(node, keys, at);
    } else if (setting->kind == Setting::Kind::section) {
      if (!node.is_map()) make_map(node);
      set_in_map(node, {pointers(setting->nested)}, at);
    } else if (setting->kind == Setting::Kind::family) {
      set_in_family(node, *setting, at);
    } else if (setting->kind == Setting::Kind::duration || setting->kind == Setting::Kind::durations) {
      if (!node.is_map() || node.find(step.key) == nullptr) make_map(node);
      set_in_map(node, {}, at);
    } else {
      nothing_below(at);
    }
  }

  static bool reaches(const Setting& setting) {
    return setting.kind == Setting::Kind::section || setting.kind == Setting::Kind::family ||
           setting.kind == Setting::Kind::duration || setting.kind == Setting::Kind::durations;
  }

  [[noreturn]] void nothing_below(std::size_t at) const {
    const std::string above = path_to(at - 1), &key = steps_[at].key;
    const bool is_number = !key.empty() && key.find_first_not_of("0123456789") == key.npos;
    fail(in_quotes(above) + " is one value without keys",
         is_number ? "an entry of a list is written `" + above + "[" + key + "]`" : "");
  }

  void set_in_list(Node& node, const Setting* setting, std::size_t at) {
    const std::size_t index = *steps_[at].index;
    if (!node.is_list()) fail(in_quotes(path_to(at - 1)) + " is not a list");
    if (index >= node.items.size()) {
      fail("no " + in_quotes(path_to(at)) + ": the list has " + std::to_string(node.items.size()) +
           " entries, from [0]");
    }
    const bool known = setting != nullptr && setting->kind == Setting::Kind::list;
    set(node.items[index], known ? &setting->nested.at(0) : nullptr, {}, at + 1);
  }

  void set_in_family(Node& node, const Setting& setting, std::size_t at) {
    const std::string& member = steps_[at].key;
    const MemberChoice old = member_choice(node);
    const Catalog::Family& family = Catalog::all().at(setting.family_name);
    if (!family.members.contains(member) && family.members.contains(old.name) &&
        keys_of_member(family, old.name).find(member) != nullptr) {
      const std::string above = path_to(at - 1);
      fail(
          "unknown " + setting.family_name + " " + in_quotes(member),
          "did you mean `" + above + "." + old.name + path_to(steps_.size() - 1).substr(above.size()) + "`?");
    }
    if (old.name != member || node.is_reference()) {
      if (!old.name.empty() && old.place) {
        const std::string replaced = " replaces " + in_quotes(old.name), at_place = " at " + old.place.text();
        text_.remark = "it" + replaced + ", which is " + path_to(at - 1) + at_place;
        note_ = text_.name + replaced + at_place;
      }
      make_map(node);
      node.entries.push_back({member, place_, {}});
    }
    if (at + 1 < steps_.size()) spell_out(setting, node);
    NodeEntry& choice = node.is_map() ? node.entries[0] : (spell_out(setting, node), node.entries[0]);
    if (at + 1 == steps_.size()) {
      choice.key_place = place_;
      choice.value = std::move(value_);
      return;
    }
    if (!choice.value.is_map()) nothing_below(at + 1);
    set_in_map(choice.value, keys_of_member(family, member), at + 1);
  }

  SourceText& text_;
  Place place_;
  std::vector<std::unique_ptr<SourceText>>& texts_;
  std::vector<Step> steps_;
  Node value_;
  std::string note_;
};

}  // namespace

Node merged(Node below, Node over, const std::vector<Setting>& root) {
  return lay_maps(std::move(below), std::move(over), {pointers(root), Keys::Map::root});
}

void check_override(const SourceText& text) {
  const std::size_t equals = text.text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw Error(ExitCode::usage, {diagnostic_at({&text}, "-s expects KEY=VALUE, got " + in_quotes(text.text),
                                                "such as -s train.epochs=1")});
}

std::string apply_override(Node& tree, SourceText& override_text, const std::vector<Setting>& root,
                           std::vector<std::unique_ptr<SourceText>>& texts) {
  return Override(override_text, texts).apply(tree, root);
}

}  // namespace trainer
