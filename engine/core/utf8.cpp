#include "engine/core/utf8.h"

namespace trainer {

std::uint32_t next_character(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) {
    ++at;
    return first;
  }
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() - at < length) return kNoCharacter;
  std::uint32_t character = first & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xC0u) != 0x80) return kNoCharacter;
    character = character << 6 | (next & 0x3Fu);
  }
  // RFC 3629 forbids overlong forms, surrogates and code points above 10FFFF.
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (character < kLeast[length] || character > 0x10FFFF || (character >= 0xD800 && character < 0xE000))
    return kNoCharacter;
  at += length;
  return character;
}

std::size_t begun_character(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  std::size_t bytes = 1;
  for (; bytes < length && at + bytes < text.size(); ++bytes) {
    // The second byte of some is limited, by the rules of RFC 3629.
    unsigned least = 0x80, most = 0xBF;
    if (bytes == 1 && first == 0xE0) least = 0xA0;
    if (bytes == 1 && first == 0xED) most = 0x9F;
    if (bytes == 1 && first == 0xF0) least = 0x90;
    if (bytes == 1 && first == 0xF4) most = 0x8F;
    const auto next = static_cast<unsigned char>(text[at + bytes]);
    if (next < least || next > most) break;
  }
  return bytes;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();)
    if (next_character(text, at) == kNoCharacter) return false;
  return true;
}

}  // namespace trainer
