#pragma once

#include <cstddef>
#include <string>

#include "engine/config/expansion.h"

namespace trainer {

/// A line of YAML has so many characters at most where it can be broken.
constexpr std::size_t kWidth = 120;

/// What follows `key:`, which ends before `column` of a line with this indentation, with its newline. The
/// node's values are as they were written, its lines and comments are not.
std::string written_value(const Node& node, std::size_t column, std::size_t indent);

/// The sections `vars`, `blocks` and `defaults`, without the variables and blocks that neither `layers` nor
/// what they use names.
std::string written_abbreviations(const Abbreviations& all, const Node& layers);

}  // namespace trainer
