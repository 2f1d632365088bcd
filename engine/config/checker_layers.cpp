#include <algorithm>

#include "engine/config/checker.h"

// The part of the checker for what layers have and no other family: names, and defaults from outside.
namespace trainer {

void Checker::note_layer(ConfigNode& layer, const Scope* scope, const std::vector<Given>& given) {
  LayerName name{&layer, scope};
  for (const Given& one : given) {
    if (one.key != "name") continue;
    const Node* source = expansion_.resolve(one.value).value.node;
    name.source = source != nullptr && source->is_scalar() ? source : nullptr;
    if (name.source != nullptr) name.number = expansion_.number_of(name.source, name.scope);
  }
  layers_.push_back(name);
  has_layers_ = true;
}

/// What a block's use or `defaults:` gives, for the settings that the layer itself does not.
void Checker::add_layer_defaults(const Catalog::Family& family, const Declaration& member, const Scope* scope,
                                 std::vector<Given>& given) {
  const auto is_given = [&](const std::string& key) {
    return std::any_of(given.begin(), given.end(), [&](const Given& one) { return one.key == key; });
  };
  const auto add = [&](const Setting& setting, bool shared) {
    if (is_given(setting.name) || setting.name == "name") return;
    if (shared) {
      for (const Scope* use = scope; use != nullptr; use = use->caller) {
        const auto found = use->shared.find(setting.name);
        if (found == use->shared.end()) continue;
        given.push_back({setting.name, found->second.key_place, found->second.value});
        return;
      }
    }
    if (const NodeEntry* entry = expansion_.default_for(member.name, setting, shared))
      given.push_back({setting.name, entry->key_place, {&entry->value, expansion_.outermost()}});
  };
  for (const Setting& setting : member.settings) add(setting, false);
  for (const Setting& setting : family.shared) add(setting, true);
}

void Checker::check_defaults() {
  const Catalog::Family& family = Catalog::all().family(kLayerFamily);
  for (const NodeEntry& entry : expansion_.defaults().entries) {
    ConfigNode unused;
    unused.path = "defaults." + entry.key;
    const Setting* shared = find_setting(pointers(family.shared), entry.key);
    const auto member = family.members.find(entry.key);
    if (shared != nullptr && entry.key != "name") {
      check(*shared, {&entry.value, expansion_.outermost()}, entry.key_place, unused);
    } else if (member != family.members.end()) {
      check_type_defaults(family, member->second, entry);
    } else if (!report_renamed(entry.key_place, entry.key, renamed(entry.key, family))) {
      std::vector<std::string> names = names_of(family);
      for (const Setting& setting : family.shared)
        if (setting.name != "name") names.push_back(setting.name);
      mistakes_.add(entry.key_place, "unknown key " + in_quotes(entry.key) + " in defaults",
                    meaning_of("layer", entry.key, names).hint,
                    {"`defaults` is keyed by a layer type or a setting that all layers share"});
    }
  }
  layers_.clear();
  has_layers_ = false;
}

void Checker::check_type_defaults(const Catalog::Family& family, const Declaration& member,
                                  const NodeEntry& entry) {
  if (!entry.value.is_map()) {
    mistakes_.add(entry.value.place, "`defaults` of " + entry.key + " expects a map of settings, got " +
                                         entry.value.form_name());
    return;
  }
  const Settings settings = member_settings(family, member);
  const std::vector<std::string> names = names_of(settings);
  for (const NodeEntry& one : entry.value.entries) {
    const Setting* setting = find_setting(settings, one.key);
    if (report_renamed(one.key_place, one.key, renamed(one.key, settings))) continue;
    if (setting == nullptr || one.key == "name") {
      mistakes_.add(one.key_place, "unknown key " + in_quotes(one.key) + " in the defaults of " + entry.key,
                    meaning_of("key", one.key, names).hint, {entry.key + " takes " + listed(names, "")});
      continue;
    }
    ConfigNode unused;
    unused.path = "defaults." + entry.key + "." + one.key;
    check(*setting, {&one.value, expansion_.outermost()}, one.key_place, unused);
  }
}

void Checker::check_shared_defaults(std::vector<ConfigNode>& out) {
  for (const Setting& setting : Catalog::all().family(kLayerFamily).shared) {
    const NodeEntry* written = expansion_.defaults().find(setting.name);
    if (setting.name == "name" || (written == nullptr && setting.default_yaml.empty())) continue;
    ConfigNode& node = out.emplace_back();
    node.key = setting.name;
    check(setting,
          written != nullptr ? Written{&written->value, expansion_.outermost()} : default_of(setting), {},
          node);
  }
}

/// A block's name goes before the names of its layers, and a name that is used several times gets a number.
void Checker::name_layers() {
  const auto numbered = [&](const std::string& name, const Node* source, const Scope* scope, int number) {
    return expansion_.uses(source, scope) > 1 ? name + std::to_string(number) : name;
  };
  const auto prefix = [&](auto&& self, const Scope* scope) -> std::string {
    if (scope == nullptr) return "";
    const std::string above = self(self, scope->caller);
    if (scope->name_source == nullptr) return above;
    return above + numbered(scope->name, scope->name_source, scope->caller, scope->number) + ".";
  };
  std::map<std::string, int> unnamed;
  for (const LayerName& one : layers_) {
    const std::string before = prefix(prefix, one.scope);
    if (one.source == nullptr && before.empty()) continue;
    ConfigNode* name = one.layer->child("name");
    if (name == nullptr) continue;
    const std::string stem = before + one.layer->type;
    name->value = one.source != nullptr
                      ? before + numbered(one.source->text, one.source, one.scope, one.number)
                      : stem + std::to_string(++unnamed[stem]);
    name->given = name->present = true;
  }
  layers_.clear();
}

}  // namespace trainer
