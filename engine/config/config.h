#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/error.h"

namespace trainer {

struct ConfigNode;  // a checked, resolved node; see config_node.h

/// So that epochs times their steps are a number still.
constexpr double kMaxEpochs = 1e9, kMaxSteps = 1e12;
/// Of a batch and of a set: their products with the extents of a sample are checked, not those with each
/// other.
constexpr double kMaxSamples = 1e12;

/// A length of training: so many epochs, or so many steps.
struct Duration {
  bool in_epochs = false;
  std::int64_t count = 0;
  bool operator==(const Duration&) const = default;
  std::int64_t steps(std::int64_t steps_per_epoch) const {
    return in_epochs ? count * steps_per_epoch : count;
  }
};

/// One checked node of a run's YAML: a family member, a section or a list. Every declared key is there, by
/// the file or by its default, with the right type and inside its range, so get() does not fail on what a
/// user wrote. A view: the ConfigTree that made it must outlive it.
class Config {
 public:
  explicit Config(const ConfigNode& node) : node_(&node) {}

  /// The chosen member when this is a family's value: "conv", "sgd".
  const std::string& type() const;
  /// "model.layers[2].conv"
  std::string path() const;
  /// "configs/a.yaml:11:14", for messages; empty for a default.
  std::string place() const;

  /// True when the key has a value, from the file or by default (always, unless it is optional()).
  bool has(std::string_view key) const;
  /// True when the user wrote it, as opposed to a default.
  bool given(std::string_view key) const;

  /// T: bool, int, std::int64_t, float, double, std::string, Duration, std::vector<std::int64_t>,
  /// std::vector<Duration>, std::vector<std::string>; for a section of any keys a vector of pairs
  /// of key and text. For a key with or_word(), ask is_word() first. An undeclared key is a logic_error.
  template <class T>
  T get(std::string_view key) const;
  bool is_word(std::string_view key, std::string_view word) const;

  /// The node below a key: a family, a section, the alternative of an either.
  Config at(std::string_view key) const;
  /// The elements of a list below `key`.
  std::vector<Config> items(std::string_view key) const;
  /// The elements when this node is itself a list.
  std::vector<Config> items() const;
  /// The value when this node is itself a scalar (an either's alternative, a list's element).
  template <class T>
  T value() const;

  /// Throws Error(usage) that points at the key's value (or at this node when `key` is empty or was not
  /// written).
  [[noreturn]] void fail(std::string_view key, std::string what, std::string help = "") const;
  /// The same as a diagnostic, for those who collect several or add notes.
  Diagnostic diagnostic(std::string_view key, std::string what, std::string help = "") const;

 private:
  const ConfigNode* node_;
};

}  // namespace trainer
