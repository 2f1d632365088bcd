#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

/// A text as numbers: each token by its place in the vocabulary.
struct TokenizedText {
  std::vector<std::uint32_t> tokens;
  int vocabulary = 0;
  std::vector<std::string> texts;  ///< what each token stands for
};

/// Every character (code point) is a token; the vocabulary is those of the text, in order. Error(data) that
/// names `path`, line and column when the text is not UTF-8.
TokenizedText tokens_of_characters(std::string_view text, const std::string& path);

/// Pieces of words by the pairs of GPT-2's file of merges: tokens are the 256 bytes, then what each line
/// makes. Error(data) that names `merges_path` and the line when that file is bad. Any text will do.
TokenizedText tokens_of_byte_pairs(std::string_view text, std::string_view merges,
                                   const std::string& merges_path);

}  // namespace trainer
