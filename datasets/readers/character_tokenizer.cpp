#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "datasets/readers/tokenizers.h"
#include "engine/core/error.h"
#include "engine/core/utf8.h"

namespace trainer {
namespace {

[[noreturn]] void fail_not_utf8(std::string_view text, std::size_t at, const std::string& path) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  throw Error(ExitCode::data,
              {Diagnostic{.what = "the text is not UTF-8",
                          .place = fmt::format("{}:{}:{}", path, line, at - line_begin + 1),
                          .notes = {fmt::format("the byte {:02x} at offset {} is not part of a character",
                                                static_cast<unsigned char>(text[at]), at)},
                          .help = "`tokens: bytes` reads any file"}});
}

class CharacterTokenizer final : public Tokenizer {
 public:
  CharacterTokenizer(std::string_view text, const std::string& path) {
    std::vector<std::size_t> places;  // of each code point: where the text has it first, from 1; 0: nowhere
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      const std::uint32_t character = next_character(text, at);
      if (character == kNoCharacter) fail_not_utf8(text, begin, path);
      if (character >= places.size()) places.resize(character + 1);
      if (places[character] == 0) places[character] = begin + 1;
    }
    tokens_.assign(places.size(), kNone);
    for (std::size_t character = 0; character < places.size(); ++character) {
      if (places[character] == 0) continue;
      std::size_t end = places[character] - 1;
      next_character(text, end);
      tokens_[character] = static_cast<Token>(texts_.size());
      texts_.emplace_back(text.substr(places[character] - 1, end - places[character] + 1));
    }
  }

  std::string kind() const override { return "characters"; }
  std::string definition() const override {
    std::string all;
    for (const std::string& text : texts_) all += text;
    return all;
  }
  int vocabulary() const override { return static_cast<int>(texts_.size()); }
  std::vector<Token> encode(std::string_view text) const override {
    std::vector<Token> tokens;
    tokens.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      const std::uint32_t character = next_character(text, at);
      if (character >= tokens_.size() || tokens_[character] == kNone) fail_unknown(text.substr(begin));
      tokens.push_back(tokens_[character]);
    }
    return tokens;
  }
  std::string_view bytes_of(Token token) const override { return texts_.at(token); }

 private:
  static constexpr Token kNone = 0xFFFFFFFF;

  [[noreturn]] static void fail_unknown(std::string_view rest) {
    std::size_t end = 0;
    if (next_character(rest, end) == kNoCharacter)
      throw Error(ExitCode::usage, fmt::format("the byte {:02x} is not part of a UTF-8 character",
                                               static_cast<unsigned char>(rest[0])));
    throw Error(ExitCode::usage, fmt::format("the training text has no character `{}`", rest.substr(0, end)),
                "a text of characters that the training text has");
  }

  std::vector<Token> tokens_;  ///< of each code point
  std::vector<std::string> texts_;
};

}  // namespace

std::unique_ptr<Tokenizer> character_tokenizer(std::string_view text, const std::string& path) {
  return std::make_unique<CharacterTokenizer>(text, path);
}

}  // namespace trainer
