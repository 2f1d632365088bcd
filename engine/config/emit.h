#pragma once

#include <string>

#include "engine/config/checker.h"

namespace trainer {

/// The checked tree as YAML that reads back as the same tree.
std::string emitted(const ConfigNode& root, Checker& checker);

}  // namespace trainer
