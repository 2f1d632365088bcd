// Tokenizers of GPT-2's form as Hugging Face stores them: vocab.json and merges.txt, or tokenizer.json; and
// the characters of tokenizer_json().
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "datasets/readers/byte_letters.h"
#include "datasets/readers/tokenizers.h"
#include "engine/config/source.h"
#include "engine/core/error.h"
#include "engine/system/files.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 28;
// Tokens without a piece take memory, too.
constexpr std::int64_t kMaxVocabulary = 1 << 22;
constexpr int kDeepest = 64;  ///< level of JSON; copies of a value recurse

[[noreturn]] void fail(const std::string& place, const std::string& what, const std::string& note = "") {
  Diagnostic problem{.what = what, .place = place};
  if (!note.empty()) problem.notes.push_back(note);
  throw Error(ExitCode::data, {problem});
}

/// Runs `read`, whose errors of JSON concern this file.
template <class Read>
auto reading(const std::string& place, const Read& read) {
  try {
    return read();
  } catch (const json::exception& error) {
    fail(place, "not a tokenizer's file", error.what());
  }
}

json parsed(std::string_view text, const std::string& place) {
  return json::parse(text, [&](int depth, json::parse_event_t, const json&) {
    if (depth > kDeepest) fail(place, "not a tokenizer's file", "it is nested too deeply");
    return true;
  });
}

class Gpt2Tokenizer final : public Tokenizer {
 public:
  /// `definition`: {"vocab": {piece: token}, "merges": the text of merges.txt}.
  Gpt2Tokenizer(std::string definition, const std::string& place) : definition_(std::move(definition)) {
    reading(place, [&] {
      const json all = parsed(definition_, place);
      pairs_ = byte_pair_tokenizer(all.at("merges").get_ref<const std::string&>(), place);
      read_vocabulary(all.at("vocab"), place);
      return 0;
    });
  }

  std::string kind() const override { return "gpt2"; }
  std::string definition() const override { return definition_; }
  int vocabulary() const override { return static_cast<int>(texts_.size()); }
  std::vector<Token> encode(std::string_view text) const override {
    std::vector<Token> tokens;
    // Where each special text comes next.
    std::vector<std::size_t> places(specials_.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = text.find(specials_[i].first);
    for (std::size_t at = 0; at < text.size();) {
      std::size_t next = std::string_view::npos, which = 0;
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (places[i] < at) places[i] = text.find(specials_[i].first, at);
        if (places[i] < next) next = places[i], which = i;
      }
      for (const Token pair : pairs_->encode(text.substr(at, next - at))) tokens.push_back(of_pairs_[pair]);
      if (next == std::string_view::npos) break;
      tokens.push_back(specials_[which].second);
      at = next + specials_[which].first.size();
    }
    return tokens;
  }
  std::string_view bytes_of(Token token) const override { return texts_.at(token); }

 private:
  void read_vocabulary(const json& vocabulary, const std::string& place) {
    const ByteLetters letters;
    std::unordered_map<std::string, Token> tokens;  // by their bytes
    for (const auto& [piece, value] : vocabulary.items()) {
      const auto token = value.get<double>();
      if (!(token >= 0 && token < kMaxVocabulary) || token != std::trunc(token))
        fail(place, fmt::format("{} has the token {}", in_quotes(piece), token),
             fmt::format("tokens are whole numbers from 0 to {}", kMaxVocabulary - 1));
      const auto at = static_cast<std::size_t>(token);
      if (texts_.size() <= at) texts_.resize(at + 1);
      if (piece.empty() || !texts_[at].empty())
        fail(place, fmt::format("two pieces, or an empty one, have the token {}", token));
      texts_[at] = piece;
      if (const auto bytes = letters.tokens_of(piece)) {
        std::string text;
        for (const char32_t byte : *bytes) text += pairs_->bytes_of(byte);
        tokens.emplace(std::move(text), static_cast<Token>(token));
      }
    }
    std::vector<bool> is_piece(texts_.size());
    for (Token pair = 0; pair < static_cast<Token>(pairs_->vocabulary()); ++pair) {
      const auto found = tokens.find(std::string(pairs_->bytes_of(pair)));
      if (found == tokens.end())
        fail(place, fmt::format("the vocabulary lacks {}, which the merges make",
                                in_quotes(std::string(pairs_->bytes_of(pair)))));
      of_pairs_.push_back(found->second);
      is_piece[found->second] = true;
      texts_[found->second] = found->first;
    }
    // What no merge makes is a token where the text has it as it is.
    for (std::size_t token = 0; token < texts_.size(); ++token)
      if (!is_piece[token] && !texts_[token].empty())
        specials_.emplace_back(texts_[token], static_cast<Token>(token));
    // The longest of those that begin at a place comes first.
    std::ranges::stable_sort(specials_, std::ranges::greater(),
                             [](const auto& special) { return special.first.size(); });
  }

  std::string definition_;
  std::unique_ptr<Tokenizer> pairs_;  ///< of the bytes and merges
  std::vector<Token> of_pairs_;       ///< the token of each of its tokens
  std::vector<std::string> texts_;    ///< of each token
  std::vector<std::pair<std::string, Token>> specials_;
};

/// The merges of a tokenizer.json, "a b" or ["a", "b"] each, as lines.
std::string lines_of(const json& merges) {
  std::string lines = "#version: 0.2\n";
  for (const json& merge : merges) {
    if (merge.is_string())
      lines += merge.get_ref<const std::string&>();
    else
      lines += merge.at(0).get<std::string>() + " " + merge.at(1).get<std::string>();
    lines += '\n';
  }
  return lines;
}

/// The definition of a tokenizer.json. Error(data) unless it is byte-level BPE that splits words as GPT-2.
std::string definition_of(const json& all, const std::string& place) {
  const auto require = [&](bool holds, const char* what) {
    if (!holds) fail(place, fmt::format("{}: not a tokenizer of GPT-2's form", what));
  };
  const auto is_set = [](const json& object, const char* key) {
    return object.contains(key) && !object.at(key).is_null();
  };
  const json& model = all.at("model");
  require(model.value("type", "BPE") == "BPE", "its model is not BPE");
  require(!is_set(all, "normalizer"), "it normalizes texts");
  require(is_set(all, "pre_tokenizer") && all.at("pre_tokenizer").value("type", "") == "ByteLevel",
          "its pre_tokenizer is not ByteLevel");
  require(!all.at("pre_tokenizer").value("add_prefix_space", true), "it adds a space before texts");
  require(all.at("pre_tokenizer").value("use_regex", true), "it splits no words");
  json vocabulary = model.at("vocab");
  if (is_set(all, "added_tokens"))
    for (const json& added : all.at("added_tokens"))
      vocabulary[added.at("content").get<std::string>()] = added.at("id");
  return json{{"vocab", vocabulary}, {"merges", lines_of(model.at("merges"))}}.dump();
}

/// Characters as tokenizer_json() writes them.
std::unique_ptr<Tokenizer> characters_of(const json& all, const std::string& place) {
  const json& vocabulary = all.at("model").at("vocab");
  std::string text;  // pieces in the order of their bytes, which is that of code points
  for (const auto& [piece, token] : vocabulary.items()) text += piece;
  auto tokenizer = character_tokenizer(text, place);
  bool same = static_cast<std::size_t>(tokenizer->vocabulary()) == vocabulary.size() &&
              all.value("added_tokens", json::array()).empty() && all.value("normalizer", json()).is_null() &&
              all.at("pre_tokenizer").at("pattern").value("Regex", "") == R"([\s\S])";
  Token next = 0;
  for (const auto& [piece, token] : vocabulary.items()) {
    same = same && token == next && tokenizer->bytes_of(next) == piece;
    ++next;
  }
  if (!same)
    fail(place, "its model is WordLevel, but not of single characters in the order of their code points",
         "`trainer export RUN hf` writes such a file of `tokens: characters`");
  return tokenizer;
}

}  // namespace

std::unique_ptr<Tokenizer> gpt2_tokenizer(std::string_view definition, const std::string& path) {
  return std::make_unique<Gpt2Tokenizer>(std::string(definition), path);
}

std::unique_ptr<Tokenizer> read_gpt2_tokenizer(const std::string& folder, std::vector<std::string>& files) {
  std::error_code ignored;
  const fs::path single = fs::path(folder) / "tokenizer.json", vocabulary = fs::path(folder) / "vocab.json",
                 merges = fs::path(folder) / "merges.txt";
  if (fs::exists(single, ignored)) {
    files = {single.string()};
    const std::string text = read_file(single, ExitCode::data, kLargestFile);
    return reading(single.string(), [&] {
      const json all = parsed(text, single.string());
      return all.at("model").value("type", "") == "WordLevel"
                 ? characters_of(all, single.string())
                 : gpt2_tokenizer(definition_of(all, single.string()), single.string());
    });
  }
  if (!fs::exists(vocabulary, ignored) || !fs::exists(merges, ignored))
    fail(folder, "it holds no tokenizer", "looked for tokenizer.json, and for vocab.json with merges.txt");
  files = {vocabulary.string(), merges.string()};
  const std::string text = read_file(vocabulary, ExitCode::data, kLargestFile);
  const std::string lines = read_file(merges, ExitCode::data, kLargestFile);
  // Its own message has the line.
  byte_pair_tokenizer(lines, merges.string());
  return gpt2_tokenizer(
      reading(vocabulary.string(),
              [&] {
                return json{{"vocab", parsed(text, vocabulary.string())}, {"merges", lines}}.dump();
              }),
      vocabulary.string());
}

}  // namespace trainer
