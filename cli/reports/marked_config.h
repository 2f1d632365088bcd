#pragma once

#include <string>

namespace trainer {

/// A configuration with every default, as HTML in which the keys that `minimal` has, those that differ from
/// their defaults, are marked. Error(usage) if a text is no YAML.
std::string marked_config(const std::string& whole, const std::string& minimal);

}  // namespace trainer
