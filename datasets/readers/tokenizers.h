#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/sentencepiece/scored_pieces.h"
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

/// A tokenizer of GPT-2's form as Hugging Face stores it: byte-pair encoding with a vocabulary that gives
/// each piece its token. Entries that no merge makes, such as <|endoftext|>, are tokens where a text has
/// them. `definition`: as definition() gives it.
std::unique_ptr<Tokenizer> gpt2_tokenizer(std::string_view definition, const std::string& path);
/// The same from the files of a folder: tokenizer.json, also of `characters`, else vocab.json and merges.txt.
/// Error(data) if they are missing, bad or of another form. `files`: those that it is read from.
std::unique_ptr<Tokenizer> read_gpt2_tokenizer(const std::string& folder, std::vector<std::string>& files);

/// The tokenizer of a SentencePiece model (Kudo and Richardson 2018), in base64. Error(data) if it is none,
/// Error(usage) if the program was built without SentencePiece.
std::unique_ptr<Tokenizer> sentencepiece_tokenizer(std::string_view model, const std::string& path);

/// The pieces of a tokenizer of the kind "sentencepiece", else nothing.
std::optional<ScoredPieces> scored_pieces(const Tokenizer& tokenizer);

/// The tokenizer of this Tokenizer::kind() and definition(). Error(data) with `path` if there is none.
std::unique_ptr<Tokenizer> make_tokenizer(const std::string& kind, std::string_view definition,
                                          const std::string& path);

}  // namespace trainer
