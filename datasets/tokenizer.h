#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

/// A token's place in its vocabulary, from 0.
using Token = std::uint32_t;

/// Splits texts into tokens and joins tokens to texts. Training and `generate` use the same one, so both see
/// the same tokens for the same text.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  /// "bytes", "characters", "bpe": with definition() all that makes an equal one (make_tokenizer()).
  virtual std::string kind() const = 0;
  /// Its vocabulary as a text; empty if the kind has only one.
  virtual std::string definition() const = 0;
  /// Number of distinct tokens.
  virtual int vocabulary() const = 0;
  /// The tokens of a text. Error(usage) if the vocabulary lacks a part of it.
  virtual std::vector<Token> encode(std::string_view text) const = 0;
  /// The bytes that one token stands for; they need not be whole characters.
  virtual std::string_view bytes_of(Token token) const = 0;
  /// The text of some tokens: decode(encode(text)) == text.
  std::string decode(std::span<const Token> tokens) const {
    std::string text;
    for (const Token token : tokens) text += bytes_of(token);
    return text;
  }
};

}  // namespace trainer
