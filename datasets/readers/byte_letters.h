#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "datasets/tokenizer.h"
#include "engine/core/utf8.h"

namespace trainer {

/// A file of merges writes each byte as one letter: a printable byte as itself, others as the letters from
/// U+0100 on. A byte's token is its place in this order: printable bytes first.
struct ByteLetters {
  static constexpr std::uint32_t kBytes = 256;

  std::array<Token, kBytes> token_of_byte{};
  std::unordered_map<std::uint32_t, Token> token_of_letter;

  ByteLetters() {
    const auto is_printable = [](std::uint32_t byte) {
      return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 255 && byte != 173);
    };
    Token token = 0;
    std::uint32_t letter = kBytes;
    for (const bool prints : {true, false})
      for (std::uint32_t byte = 0; byte < kBytes; ++byte) {
        if (is_printable(byte) != prints) continue;
        token_of_letter[prints ? byte : letter++] = token;
        token_of_byte[byte] = token++;
      }
  }

  /// The tokens of the bytes that a text of such letters stands for; none if another letter is in it.
  std::optional<std::u32string> tokens_of(std::string_view letters) const {
    std::u32string tokens;
    for (std::size_t at = 0; at < letters.size();) {
      const std::uint32_t letter = next_character(letters, at);
      const auto found = token_of_letter.find(letter);
      if (letter == kNoCharacter || found == token_of_letter.end()) return std::nullopt;
      tokens.push_back(found->second);
    }
    return tokens;
  }
};

}  // namespace trainer
