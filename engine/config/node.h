#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/source.h"

namespace trainer {

// What one run's YAML may hold at most; far above any real file, far below what would hurt.
constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::size_t kMaxNodes = 100'000;
constexpr std::size_t kDeepestNode = 64;

struct NodeEntry;

/// One node of YAML as written, aliases and `<<` already resolved.
struct Node {
  enum class Form { null, scalar, list, map };

  Form form = Form::null;
  bool plain = true;  ///< a scalar without quotes
  std::string text;
  std::vector<Node> items;
  std::vector<NodeEntry> entries;
  Place place;

  bool is_map() const { return form == Form::map; }
  bool is_list() const { return form == Form::list; }
  bool is_scalar() const { return form == Form::scalar; }
  /// `~` or `null`, as opposed to a key without anything behind it.
  bool is_written_null() const { return form == Form::null && !text.empty(); }
  /// `$name`
  bool is_reference() const { return is_scalar() && plain && text.size() > 1 && text[0] == '$'; }

  const NodeEntry* find(std::string_view key) const;
  NodeEntry* find(std::string_view key);
  /// The node's form for messages: "a text", "a list" ...
  std::string form_name() const;
};

/// A key of a map with its value.
struct NodeEntry {
  std::string key;
  Place key_place;
  Node value;
};

inline const NodeEntry* Node::find(std::string_view key) const {
  for (const NodeEntry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

inline NodeEntry* Node::find(std::string_view key) {
  for (NodeEntry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

inline std::string Node::form_name() const {
  switch (form) {
    case Form::null:
      return "nothing";
    case Form::scalar:
      return "a text";
    case Form::list:
      return "a list";
    case Form::map:
      return "a map";
  }
  return "";
}

}  // namespace trainer
