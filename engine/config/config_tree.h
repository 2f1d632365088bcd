#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/config/config.h"
#include "engine/config/setting.h"

namespace trainer {

/// Where a run's YAML comes from.
struct ConfigSource {
  std::string file;                    ///< path; with `text` set, only the name used in messages
  std::string text;                    ///< YAML given directly; empty: read `file`
  std::vector<std::string> over = {};  ///< files that change keys of `file`, each over those before
  std::vector<std::string> overrides;  ///< "train.epochs=1", in the order of the command line
};

/// A key in which trees differ, with what each of them has there in a line of YAML; empty where it has none.
struct ConfigDifference {
  std::string path;
  std::vector<std::string> values;
};

/// A run's YAML, read, expanded (base, <<, vars, blocks, repeat, defaults, overrides) and checked against the
/// keys of the root section. Owns all nodes.
class ConfigTree {
 public:
  /// Throws Error(usage) with every mistake of the file at once.
  ConfigTree(const ConfigSource& source, const std::vector<Setting>& root);
  /// One family member from text, as tests write it: ConfigTree::member("layer", "conv: {filters: 4, kernel:
  /// 3}").
  static ConfigTree member(const std::string& family, const std::string& yaml);
  ~ConfigTree();
  ConfigTree(ConfigTree&&) noexcept;

  Config root() const;

  /// What a user should know about a sound configuration, a line each: overrides that replace another member.
  const std::vector<std::string>& notes() const;

  /// Gives $classes and $vocab their value once the data is open; an empty value means that the data has
  /// none, a mistake of the user where a key uses it. Reading such a key before is a logic_error.
  void define(const std::string& name, const std::string& value);

  /// Paths of the keys that have another value in `other`, but for those that may change when a run resumes.
  std::vector<std::string> fixed_differences(const ConfigTree& other) const;

  /// The resolved YAML with every default, itself a valid config (`trainer config`, config.yaml of a run
  /// directory).
  std::string resolved_yaml() const;
  /// The same without what has its default.
  std::string minimal_yaml() const;
  /// The same with the layers as they were written, and the variables and blocks that they use, where that is
  /// shorter (`trainer config --minimal`).
  std::string abbreviated_yaml() const;

 private:
  struct State;
  friend std::vector<ConfigDifference> differences(const std::vector<ConfigTree>& trees);
  explicit ConfigTree(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

std::vector<ConfigDifference> differences(const std::vector<ConfigTree>& trees);

/// JSON Schema, draft-07, of files with these root keys (`trainer schema`).
std::string json_schema(const std::vector<Setting>& root);

/// The reference of all keys as Markdown (docs/keys.md).
std::string key_reference(const std::vector<Setting>& root);

}  // namespace trainer
