#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "datasets/tokenizer.h"

namespace trainer {

/// Every byte is a token; any text has tokens.
std::unique_ptr<Tokenizer> byte_tokenizer();

/// Every character (code point) of `text` is a token; the vocabulary is in the order of code points.
/// Error(data) with `path`, line and column if the text is not UTF-8.
std::unique_ptr<Tokenizer> character_tokenizer(std::string_view text, const std::string& path);

/// Byte-pair encoding (Sennrich et al. 2016) with a GPT-2 file of merges: tokens 0 to 255 are the bytes, then
/// each line adds one. Any text has tokens. Error(data) with `merges_path` and the line if the file is bad.
std::unique_ptr<Tokenizer> byte_pair_tokenizer(std::string_view merges, const std::string& merges_path);

/// The tokenizer of this Tokenizer::kind() and definition(). Error(data) with `path` if there is none.
std::unique_ptr<Tokenizer> make_tokenizer(const std::string& kind, std::string_view definition,
                                          const std::string& path);

}  // namespace trainer
