#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/config/config.h"
#include "engine/config/node.h"
#include "engine/config/setting.h"

namespace trainer {

struct Scope;

/// A written node together with the names that `$x` means in it.
struct Written {
  const Node* node = nullptr;
  const Scope* scope = nullptr;
};

/// One checked node. A family's children are its member's settings, a section's its keys, a list's its
/// elements.
struct ConfigNode {
  using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, Duration,
                             std::vector<std::int64_t>, std::vector<Duration>>;

  const Setting* setting = nullptr;   ///< the alternative, where the declaration has several
  const Setting* declared = nullptr;  ///< the declaration itself, with the default
  std::string key;                    ///< in the map above
  std::string type;                   ///< a family's member, an alternative's name
  std::string path;
  Place place;    ///< of the value, or of the name of a section or member; none for a default
  Place nearest;  ///< the same, or that of the nearest written node above
  bool given = false;
  bool present = true;  ///< false: optional and not written
  Value value;
  std::vector<ConfigNode> children;
  Written awaited;  ///< a value that `$classes` or `$vocab` will complete; node is null otherwise

  const ConfigNode* child(std::string_view name) const {
    for (const ConfigNode& node : children)
      if (node.key == name) return &node;
    return nullptr;
  }
  ConfigNode* child(std::string_view name) {
    for (ConfigNode& node : children)
      if (node.key == name) return &node;
    return nullptr;
  }
};

}  // namespace trainer
