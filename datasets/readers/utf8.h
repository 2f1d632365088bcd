#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trainer {

inline constexpr std::uint32_t kNoCharacter = 0xFFFFFFFF;

/// The character (code point) whose UTF-8 begins at text[at], and moves behind it; kNoCharacter, without
/// moving, when the bytes there are none.
std::uint32_t next_character(std::string_view text, std::size_t& at);

}  // namespace trainer
