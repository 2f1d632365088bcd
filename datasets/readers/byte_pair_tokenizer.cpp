// Byte-pair encoding (Sennrich et al. 2016) with the byte letters, token order and words of GPT-2 (Radford et
// al. 2019).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "datasets/readers/byte_letters.h"
#include "datasets/readers/tokenizers.h"
#include "datasets/readers/word_splitter.h"
#include "engine/core/error.h"
#include "engine/core/utf8.h"

namespace trainer {
namespace {

constexpr std::uint32_t kBytes = ByteLetters::kBytes;
constexpr Token kNone = 0xFFFFFFFF;

/// What a pair of tokens merges into. Pairs of lower rank merge first.
struct Merge {
  std::size_t rank = 0;
  Token token = kNone;
};

/// The token that each pair of tokens merges into. A line that makes a new piece makes the next token.
class Merges {
 public:
  Merges(std::string_view text, const std::string& path) : path_(path) {
    for (std::uint32_t token = 0; token < kBytes; ++token) names_[std::u32string(1, token)] = token;
    std::size_t line = 0;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view pair = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++line;
      if (pair.ends_with('\r')) pair.remove_suffix(1);
      if (line == 1 && pair.starts_with("#version")) continue;
      if (pair.empty() && text.empty()) break;
      add(pair, line);
    }
  }

  Token of_byte(unsigned char byte) const { return letters_.token_of_byte[byte]; }
  /// The bytes of each token.
  std::vector<std::string> texts() const {
    std::array<char, kBytes> byte_of_token{};
    for (std::uint32_t byte = 0; byte < kBytes; ++byte)
      byte_of_token[letters_.token_of_byte[byte]] = static_cast<char>(byte);
    std::vector<std::string> texts(names_.size());
    for (const auto& [bytes, token] : names_)
      for (const char32_t byte : bytes) texts[token] += byte_of_token[byte];
    return texts;
  }
  /// The token is kNone if the pair does not merge.
  Merge merged(Token first, Token second) const {
    const auto found = made_of_.find(std::uint64_t{first} << 32 | second);
    return found == made_of_.end() ? Merge{} : found->second;
  }

 private:
  [[noreturn]] void fail(std::size_t line, std::size_t column, const std::string& what,
                         const std::string& note) const {
    throw Error(
        ExitCode::data,
        {Diagnostic{.what = what, .place = fmt::format("{}:{}:{}", path_, line, column), .notes = {note}}});
  }

  /// The tokens of a piece's bytes.
  std::u32string bytes_of(std::string_view piece, std::size_t line, std::size_t column) const {
    std::u32string bytes;
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t begin = at;
      const std::uint32_t letter = next_character(piece, at);
      const auto found = letters_.token_of_letter.find(letter);
      if (letter == kNoCharacter || found == letters_.token_of_letter.end())
        fail(line, column + begin, "a letter that stands for no byte",
             "the file must have the format of GPT-2's merges.txt");
      bytes.push_back(found->second);
    }
    return bytes;
  }

  Token known(const std::u32string& piece, std::size_t line, std::size_t column) const {
    const auto found = names_.find(piece);
    if (found == names_.end())
      fail(line, column, "a piece that no earlier line makes",
           "a piece is a byte, or two pieces that an earlier line merged");
    return found->second;
  }

  void add(std::string_view pair, std::size_t line) {
    const std::size_t space = pair.find(' ');
    if (space == 0 || space == std::string_view::npos || space + 1 == pair.size() ||
        pair.find(' ', space + 1) != std::string_view::npos)
      fail(line, 1, "a merge is two pieces with a space between them",
           "each piece is written in GPT-2's letters for bytes");
    const std::u32string first = bytes_of(pair.substr(0, space), line, 1);
    const std::u32string second = bytes_of(pair.substr(space + 1), line, space + 2);
    const std::uint64_t key = std::uint64_t{known(first, line, 1)} << 32 | known(second, line, space + 2);
    const auto made = names_.emplace(first + second, static_cast<Token>(names_.size())).first;
    if (!made_of_.emplace(key, Merge{made_of_.size(), made->second}).second)
      fail(line, 1, "a merge that an earlier line has", "each pair merges once");
  }

  std::string path_;
  ByteLetters letters_;
  std::map<std::u32string, Token> names_;             ///< by the tokens of their bytes
  std::unordered_map<std::uint64_t, Merge> made_of_;  ///< by a pair: the first token << 32 | the second
};

/// Merges the bytes of one word: always the pair that comes first in the file, the leftmost if it occurs
/// twice.
class WordEncoder {
 public:
  explicit WordEncoder(const Merges& merges) : merges_(merges) {}

  /// Appends the tokens of a word.
  void encode(std::string_view word, std::vector<Token>& tokens) {
    pieces_.clear();
    for (std::size_t i = 0; i < word.size(); ++i)
      pieces_.push_back({merges_.of_byte(static_cast<unsigned char>(word[i])), i - 1, i + 1});
    for (std::size_t i = 0; i + 1 < pieces_.size(); ++i) offer(i);
    while (!candidates_.empty()) {
      const auto [rank, left, first, second, merged] = candidates_.top();
      candidates_.pop();
      Piece& piece = pieces_[left];
      const std::size_t right = piece.next;
      // Either piece may be part of another one by now.
      if (piece.token != first || right >= pieces_.size() || pieces_[right].token != second) continue;
      piece.token = merged;
      piece.next = pieces_[right].next;
      pieces_[right].token = kNone;
      if (piece.next < pieces_.size()) {
        pieces_[piece.next].previous = left;
        offer(left);
      }
      if (left > 0) offer(piece.previous);
    }
    for (const Piece& piece : pieces_)
      if (piece.token != kNone) tokens.push_back(piece.token);
  }

 private:
  struct Piece {
    Token token;                 ///< kNone once it is merged into a piece before it
    std::size_t previous, next;  ///< the first piece has no valid `previous`
  };
  /// The rank and the place of a pair, its two tokens, and what they merge into.
  using Candidate = std::tuple<std::size_t, std::size_t, Token, Token, Token>;

  void offer(std::size_t left) {
    const std::size_t right = pieces_[left].next;
    const Token first = pieces_[left].token, second = pieces_[right].token;
    const Merge merge = merges_.merged(first, second);
    if (merge.token != kNone) candidates_.emplace(merge.rank, left, first, second, merge.token);
  }

  const Merges& merges_;
  std::vector<Piece> pieces_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates_;
};

class BytePairTokenizer final : public Tokenizer {
 public:
  BytePairTokenizer(std::string_view merges, const std::string& path)
      : definition_(merges), merges_(merges, path), texts_(merges_.texts()) {}

  std::string kind() const override { return "bpe"; }
  std::string definition() const override { return definition_; }
  int vocabulary() const override { return static_cast<int>(texts_.size()); }
  std::vector<Token> encode(std::string_view text) const override {
    // Words repeat; long ones, which seldom do, are not cached.
    constexpr std::size_t kLongestCached = 64, kMaxCached = 1 << 20;
    std::unordered_map<std::string_view, std::vector<Token>> cache;
    WordEncoder encoder(merges_);
    std::vector<Token> tokens;
    splitter_.split(text, [&](std::string_view word) {
      if (word.size() > kLongestCached) return encoder.encode(word, tokens);
      auto found = cache.find(word);
      if (found == cache.end()) {
        if (cache.size() >= kMaxCached) cache.clear();
        found = cache.emplace(word, std::vector<Token>()).first;
        encoder.encode(word, found->second);
      }
      tokens.insert(tokens.end(), found->second.begin(), found->second.end());
    });
    return tokens;
  }
  std::string_view bytes_of(Token token) const override { return texts_.at(token); }

 private:
  std::string definition_;  ///< the file of merges
  Merges merges_;
  std::vector<std::string> texts_;
  WordSplitter splitter_;
};

}  // namespace

std::unique_ptr<Tokenizer> byte_pair_tokenizer(std::string_view merges, const std::string& merges_path) {
  return std::make_unique<BytePairTokenizer>(merges, merges_path);
}

}  // namespace trainer
