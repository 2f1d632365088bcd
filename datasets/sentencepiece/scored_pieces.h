#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "datasets/tokenizer.h"

namespace trainer {

/// A model of SentencePiece by its pieces.
struct ScoredPieces {
  /// As SentencePiece's files number them.
  enum class Type : std::int32_t { normal = 1, unknown, control, user_defined, unused, byte };
  struct Piece {
    std::string text;  ///< U+2581 for a space
    float score;       ///< of two pairs the one with the higher score is merged first
    Type type;
  };
  std::vector<Piece> pieces;  ///< in the order of the tokens
  bool is_byte_pair = false;  ///< byte-pair encoding; else it may be a unigram language model
  bool adds_space = false;    ///< in front of each text
  Token unknown = 0;
  std::optional<Token> begin, end, padding;  ///< of texts
};

}  // namespace trainer
