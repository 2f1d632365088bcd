#pragma once

#include <memory>
#include <string>

#include "engine/config/config_tree.h"
#include "models/optimizers/optimizer.h"

namespace trainer {

/// An optimizer built from YAML.
struct BuiltOptimizer {
  explicit BuiltOptimizer(const std::string& yaml)
      : tree(ConfigTree::member("optimizer", yaml)), optimizer(Registry<Optimizer>::make(tree.root())) {}
  ConfigTree tree;
  std::unique_ptr<Optimizer> optimizer;
};

}  // namespace trainer
