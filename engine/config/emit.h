#pragma once

#include <string>

#include "engine/config/checker.h"

namespace trainer {

/// The checked tree as YAML that reads back as the same tree.
std::string emitted(const ConfigNode& root, Checker& checker);
/// The same tree without what has its default.
std::string emitted_minimal(const ConfigNode& root, Checker& checker);
/// The same with the layers, variables, blocks and defaults as they were written.
std::string emitted_abbreviated(const ConfigNode& root, Checker& checker, const Abbreviations& abbreviations,
                                const Node& layers);
/// A text as a YAML scalar, in quotes where it requires them.
std::string yaml_text(const std::string& text);
/// One node of it in a line, without its key.
std::string emitted_value(const ConfigNode& node, Checker& checker);

}  // namespace trainer
