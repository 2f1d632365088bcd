#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "datasets/tokenizer.h"

namespace trainer {

/// A byte-level vocabulary in the letters of GPT-2's files.
struct BytePieces {
  std::vector<std::pair<std::string, Token>> vocabulary;  ///< in the order of the tokens
  std::vector<std::pair<std::string, Token>> specials;    ///< those that no merge makes
  std::vector<std::string> merges;                        ///< "a b", the first ones first
};
/// Of the kinds "bytes", "bpe" and "gpt2", else nothing.
std::optional<BytePieces> byte_pieces(const Tokenizer& tokenizer);

/// A tokenizer as the tokenizer.json of Hugging Face's programs, which gives every text the same tokens; of
/// the kinds "bytes", "characters", "bpe" and "gpt2", else nothing.
std::optional<std::string> tokenizer_json(const Tokenizer& tokenizer);

}  // namespace trainer
