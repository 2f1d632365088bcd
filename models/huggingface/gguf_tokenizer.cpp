// What llama.cpp reads of a tokenizer: src/llama-vocab.cpp of github.com/ggml-org/llama.cpp.
#include "models/huggingface/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "datasets/readers/tokenizer_json.h"
#include "datasets/readers/tokenizers.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

/// GGUF numbers them as SentencePiece.
using TokenType = ScoredPieces::Type;

/// Tokens in their order.
class TokenList {
 public:
  explicit TokenList(std::int64_t rows)
      : texts_(static_cast<std::size_t>(rows)),
        types_(texts_.size(), static_cast<std::int32_t>(TokenType::unused)) {
    for (std::size_t token = 0; token < texts_.size(); ++token) texts_[token] = fmt::format("[PAD{}]", token);
  }
  void set(Token token, std::string text, TokenType type) {
    if (token >= texts_.size()) return;
    texts_[token] = std::move(text);
    types_[token] = static_cast<std::int32_t>(type);
  }
  void add_to(GgufMetadata& metadata) const {
    metadata.texts("tokenizer.ggml.tokens", texts_);
    metadata.counts("tokenizer.ggml.token_type", types_);
  }

 private:
  std::vector<std::string> texts_;
  std::vector<std::int32_t> types_;
};

/// Byte-pair encoding as GPT-2 has it.
void add_byte_pairs(GgufMetadata& metadata, const BytePieces& pieces, TokenList tokens) {
  // Without a key for the end llama.cpp takes token 11. The byte 255, "ÿ", is in no UTF-8 text.
  constexpr const char *kEndOfText = "<|endoftext|>", *kByte255 = "\xC3\xBF";
  std::optional<Token> end;
  for (const auto& [piece, token] : pieces.vocabulary) {
    tokens.set(token, piece, TokenType::normal);
    if (piece == kByte255 && !end) end = token;
    if (piece == kEndOfText) end = token;
  }
  for (const auto& [piece, token] : pieces.specials) tokens.set(token, piece, TokenType::control);
  metadata.text("tokenizer.ggml.model", "gpt2");
  metadata.text("tokenizer.ggml.pre", "gpt-2");
  tokens.add_to(metadata);
  metadata.texts("tokenizer.ggml.merges", pieces.merges);
  if (end)
    for (const char* const key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"})
      metadata.count(key, *end);
}

/// Tokens without merges, as RWKV has them: a text is split into the longest that match, and none ends it.
void add_longest_match(GgufMetadata& metadata, const Tokenizer& tokenizer, TokenList tokens) {
  for (Token token = 0; token < static_cast<Token>(tokenizer.vocabulary()); ++token) {
    std::string escaped;
    for (const char byte : tokenizer.bytes_of(token))
      escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    tokens.set(token, std::move(escaped), TokenType::normal);
  }
  metadata.text("tokenizer.ggml.model", "rwkv");
  tokens.add_to(metadata);
}

/// Byte-pair encoding of SentencePiece, as Llama has it.
std::string add_scored_pieces(GgufMetadata& metadata, const ScoredPieces& model, const Tokenizer& tokenizer,
                              std::int64_t rows) {
  if (!model.is_byte_pair)
    throw Error(ExitCode::usage,
                "GGUF is not written with a model of SentencePiece that is not byte-pair encoding",
                "`tokens: {sentencepiece: {vocabulary: N, model: bpe}}`; llama.cpp loses line ends and rare "
                "characters with a unigram model");
  TokenList tokens(rows);
  std::vector<float> scores(static_cast<std::size_t>(rows));
  // Without keys llama.cpp takes tokens 1 and 2. The byte 255 is in no UTF-8 text.
  Token none = model.unknown;
  for (Token token = 0; token < std::min(model.pieces.size(), scores.size()); ++token) {
    auto [text, score, type] = model.pieces[token];
    // llama.cpp splits a text by these before it replaces spaces.
    if (type == TokenType::user_defined) text = std::string(tokenizer.bytes_of(token));
    if (type == TokenType::byte && text == "<0xFF>") none = token;
    tokens.set(token, std::move(text), type);
    scores[token] = score;
  }
  metadata.text("tokenizer.ggml.model", "llama");
  tokens.add_to(metadata);
  metadata.reals("tokenizer.ggml.scores", scores);
  metadata.count("tokenizer.ggml.unknown_token_id", model.unknown);
  metadata.count("tokenizer.ggml.bos_token_id", model.begin.value_or(none));
  metadata.count("tokenizer.ggml.eos_token_id", model.end.value_or(none));
  if (model.padding) metadata.count("tokenizer.ggml.padding_token_id", *model.padding);
  metadata.truth("tokenizer.ggml.add_space_prefix", model.adds_space);
  const bool is_split = std::ranges::count(model.pieces, TokenType::user_defined, &ScoredPieces::Piece::type);
  return model.adds_space && is_split ? "llama.cpp adds a space behind each user-defined piece of a text"
                                      : "";
}

}  // namespace

std::string add_tokenizer(GgufMetadata& metadata, const Tokenizer* tokenizer, std::int64_t rows) {
  if (tokenizer == nullptr)
    throw Error(ExitCode::usage, "GGUF requires a tokenizer, which the data of this run has not",
                "`trainer export RUN hf` writes a directory without one");
  const std::string kind = tokenizer->kind();
  std::string note;
  if (kind == "bytes" || kind == "characters") {
    add_longest_match(metadata, *tokenizer, TokenList(rows));
  } else if (const std::optional<BytePieces> pieces = byte_pieces(*tokenizer)) {
    add_byte_pairs(metadata, *pieces, TokenList(rows));
  } else if (const std::optional<ScoredPieces> scored = scored_pieces(*tokenizer)) {
    note = add_scored_pieces(metadata, *scored, *tokenizer, rows);
  } else {
    throw Error(ExitCode::usage, fmt::format("GGUF is not written with tokens of the kind `{}`", kind));
  }
  for (const char* const key : {"tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token"})
    metadata.truth(key, false);
  return note;
}

}  // namespace trainer
