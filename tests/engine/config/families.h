#pragma once

#include <string>
#include <vector>

#include "engine/config/config_tree.h"
#include "engine/config/registry.h"

namespace trainer {

/// The root keys of the tests' runs: a little like the real ones, and declared by the tests alone.
std::vector<Setting> test_root();

ConfigTree tree_of(const std::string& yaml, const std::vector<std::string>& overrides = {});
/// A run with these layers in YAML's flow style, behind the lines `before`.
ConfigTree layers_of(const std::string& layers, const std::string& before = "");
/// The message of the error that reading `yaml` ends in; empty when it is sound.
std::string mistake_in(const std::string& yaml, const std::vector<std::string>& overrides = {});

}  // namespace trainer
