#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trainer {

inline constexpr std::uint32_t kNoCharacter = 0xFFFFFFFF;

/// Decodes the character that begins at byte `at` and moves `at` behind it. Returns its code point;
/// kNoCharacter, with `at` unchanged, if no valid UTF-8 begins there (RFC 3629).
std::uint32_t next_character(std::string_view text, std::size_t& at);

/// Where next_character() finds none: the bytes from `at` on that would begin a character if others followed
/// (the maximal subpart of Unicode 15, section 3.9); 0 if none would.
std::size_t begun_character(std::string_view text, std::size_t at);

/// True if all of the text is valid UTF-8.
bool is_utf8(std::string_view text);

}  // namespace trainer
