#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trainer {

inline constexpr std::uint32_t kNoCharacter = 0xFFFFFFFF;

/// Decodes the UTF-8 character at text[at] and moves `at` behind it. Returns kNoCharacter, without moving,
/// where the bytes are not UTF-8.
std::uint32_t next_character(std::string_view text, std::size_t& at);

}  // namespace trainer
