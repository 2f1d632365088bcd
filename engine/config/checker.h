#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/config_node.h"
#include "engine/config/declared.h"
#include "engine/config/expansion.h"
#include "engine/config/synonyms.h"

namespace trainer {

/// Turns what was written into checked nodes, by the declarations of the settings, and collects every
/// mistake. The nodes refer to it, so it lives as long as they do.
class Checker {
 public:
  Checker(Mistakes& mistakes, Abbreviations abbreviations)
      : mistakes_(mistakes), expansion_(std::move(abbreviations), mistakes) {}

  /// The whole of a file: a map with the keys of `settings`. `out` must stay where it is.
  void check_root(const Node& root, const std::vector<Setting>& settings, ConfigNode& out);
  void check_value(const Setting& setting, const Node& value, ConfigNode& out);
  /// Completes what waits for `$name`.
  void define(const std::string& name, const std::string& value, ConfigNode& root);
  /// The checked `defaults:` of settings that layers share, for `trainer config`.
  void check_shared_defaults(std::vector<ConfigNode>& out);
  /// The default of a setting that has one, checked.
  void check_default(const Setting& setting, ConfigNode& out);
  /// What waits for the data, in YAML's flow style.
  std::string flow_text(Written awaited);
  bool has_layers() const { return has_layers_; }

 private:
  /// A key with its value, from wherever it comes.
  struct Given {
    std::string key;
    Place key_place;
    Written value;
  };
  struct LayerName {
    ConfigNode* layer;
    const Scope* scope;
    const Node* source = nullptr;  // of the layer's own name
    int number = 0;
  };
  struct Builtin {
    SourceText source;
    Node node;
  };

  void check(const Setting& setting, Written written, const Place& key_place, ConfigNode& out);
  bool check_word(const Setting& setting, const Node& node, ConfigNode& out);
  void check_scalar(const Setting& setting, const Node& node, ConfigNode& out);
  void check_integers(const Setting& setting, Written value, ConfigNode& out);
  void check_duration(const Setting& setting, Written value, ConfigNode& out);
  void check_family(const Setting& setting, Written value, ConfigNode& out);
  void check_section(const Setting& setting, Written value, ConfigNode& out);
  /// A section with keys of any name, whose values are all of one setting.
  void check_any_keys(const Setting& setting, Written value, ConfigNode& out);
  void check_list(const Setting& setting, Written value, ConfigNode& out);
  void check_either(const Setting& setting, Written value, const Place& key_place, ConfigNode& out);
  void check_keys(const std::string& title, const Settings& settings, const std::vector<Given>& given,
                  ConfigNode& out);
  Meaning meaning_of_key(const std::string& title, const Settings& settings, const std::vector<Given>& given,
                         const Given& unknown) const;
  /// Reports the use of a former name; false when `today` is empty.
  bool report_renamed(const Place& place, const std::string& former, const std::string& today);
  void missing_key(const std::string& title, const Setting& setting, const Setting* twin,
                   const ConfigNode& out);
  void check_defaults();
  void check_type_defaults(const Catalog::Family& family, const Declaration& member, const NodeEntry& entry);

  bool read_member(const Catalog::Family& family, const Declaration& member, const MemberChoice& choice,
                   const Scope* scope, std::vector<Given>& given);
  void add_layer_defaults(const Catalog::Family& family, const Declaration& member, const Scope* scope,
                          std::vector<Given>& given);
  bool read_count(const Setting& setting, const Node& node, const ConfigNode& out, std::int64_t& value);
  /// True if an item waits for a fact of the data. Items with mistakes, which are reported, are left out.
  bool read_counts(const Setting& setting, Written list, const ConfigNode& out,
                   std::vector<std::int64_t>& values);
  Written default_of(const Setting& setting);
  void place_at(const Place& place, ConfigNode& out) const;
  std::string subject(const ConfigNode& out) const;
  void unknown_member(const Setting& setting, const MemberChoice& choice);
  void note_layer(ConfigNode& layer, const Scope* scope, const std::vector<Given>& given);
  void name_layers();

  Mistakes& mistakes_;
  Expansion expansion_;
  std::map<const Setting*, std::unique_ptr<Builtin>> builtins_;
  std::vector<Setting> root_;
  const ConfigNode* root_node_ = nullptr;  ///< null for a single value
  std::vector<LayerName> layers_;
  std::size_t depth_ = 0;
  bool has_layers_ = false;
};

}  // namespace trainer
