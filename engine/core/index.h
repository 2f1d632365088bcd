#pragma once

#include <cstddef>
#include <cstdint>

namespace trainer {

/// A number that is not negative, as standard containers take it.
constexpr std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace trainer
