#include "datasets/readers/tokenizer_json.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "datasets/readers/byte_letters.h"

namespace trainer {
namespace {

using Json = nlohmann::ordered_json;

void append_utf8(std::uint32_t character, std::string& text) {
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else {  // letters of bytes are below U+0800
    text += static_cast<char>(0xC0u | character >> 6);
    text += static_cast<char>(0x80u | (character & 0x3Fu));
  }
}

/// The letter of each byte.
std::vector<std::string> letters() {
  const ByteLetters known;
  std::vector<std::string> of_token(ByteLetters::kBytes), result;
  for (const auto& [letter, token] : known.token_of_letter) append_utf8(letter, of_token[token]);
  for (const Token token : known.token_of_byte) result.push_back(of_token[token]);
  return result;
}

/// The lines of a file of merges.
std::vector<std::string> merges_of(std::string_view text) {
  std::vector<std::string> merges;
  for (bool is_first = true; !text.empty(); is_first = false) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && !(is_first && line.starts_with("#version"))) merges.push_back(std::move(line));
  }
  return merges;
}

/// Adds vocabulary and merges.
void add_pieces(const Tokenizer& tokenizer, const std::vector<std::string>& letter, BytePieces& pieces) {
  if (tokenizer.kind() == "gpt2") {
    const Json definition = Json::parse(tokenizer.definition());
    pieces.merges = merges_of(definition.at("merges").get_ref<const std::string&>());
    for (const auto& [piece, token] : definition.at("vocab").items())
      pieces.vocabulary.emplace_back(piece, token.get<Token>());
    std::ranges::sort(pieces.vocabulary, {}, &std::pair<std::string, Token>::second);
    return;
  }
  if (tokenizer.kind() == "bpe") pieces.merges = merges_of(tokenizer.definition());
  for (Token token = 0; token < static_cast<Token>(tokenizer.vocabulary()); ++token) {
    std::string piece;
    for (const char byte : tokenizer.bytes_of(token)) piece += letter[static_cast<unsigned char>(byte)];
    pieces.vocabulary.emplace_back(std::move(piece), token);
  }
}

/// What a tokenizer.json has beside added_tokens; texts are not normalized.
Json tokenizer_parts(Json added, Json pre_tokenizer, Json decoder, Json model) {
  return {{"version", "1.0"},          {"truncation", nullptr},
          {"padding", nullptr},        {"added_tokens", std::move(added)},
          {"normalizer", nullptr},     {"pre_tokenizer", std::move(pre_tokenizer)},
          {"post_processor", nullptr}, {"decoder", std::move(decoder)},
          {"model", std::move(model)}};
}

Json json_of_pieces(const BytePieces& pieces) {
  Json vocabulary = Json::object(), specials = Json::array();
  for (const auto& [piece, token] : pieces.vocabulary) vocabulary[piece] = token;
  for (const auto& [piece, token] : pieces.specials)
    specials.push_back({{"id", token},
                        {"content", piece},
                        {"single_word", false},
                        {"lstrip", false},
                        {"rstrip", false},
                        {"normalized", false},
                        {"special", true}});
  const Json splitter{
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  return tokenizer_parts(std::move(specials), splitter, splitter,
                         {{"type", "BPE"},
                          {"dropout", nullptr},
                          {"unk_token", nullptr},
                          {"continuing_subword_prefix", nullptr},
                          {"end_of_word_suffix", nullptr},
                          {"fuse_unk", false},
                          {"byte_fallback", false},
                          {"vocab", std::move(vocabulary)},
                          {"merges", pieces.merges}});
}

/// Each character is a word. One that the vocabulary lacks is an error there, too: `<unk>` is no token.
Json json_of_characters(const Tokenizer& tokenizer) {
  Json vocabulary = Json::object();
  for (Token token = 0; token < static_cast<Token>(tokenizer.vocabulary()); ++token)
    vocabulary[std::string(tokenizer.bytes_of(token))] = token;
  return tokenizer_parts(
      Json::array(),
      {{"type", "Split"}, {"pattern", {{"Regex", R"([\s\S])"}}}, {"behavior", "Isolated"}, {"invert", false}},
      {{"type", "Fuse"}}, {{"type", "WordLevel"}, {"vocab", std::move(vocabulary)}, {"unk_token", "<unk>"}});
}

}  // namespace

std::optional<BytePieces> byte_pieces(const Tokenizer& tokenizer) {
  if (tokenizer.kind() != "bytes" && tokenizer.kind() != "bpe" && tokenizer.kind() != "gpt2")
    return std::nullopt;
  BytePieces pieces;
  const std::vector<std::string> letter = letters();
  add_pieces(tokenizer, letter, pieces);
  std::set<std::string> made(letter.begin(), letter.end());
  for (std::string merge : pieces.merges) {
    std::erase(merge, ' ');
    made.insert(std::move(merge));
  }
  std::ranges::copy_if(pieces.vocabulary, std::back_inserter(pieces.specials),
                       [&](const auto& piece) { return !made.contains(piece.first); });
  return pieces;
}

std::optional<std::string> tokenizer_json(const Tokenizer& tokenizer) {
  if (tokenizer.kind() == "characters") return json_of_characters(tokenizer).dump(2) + "\n";
  const std::optional<BytePieces> pieces = byte_pieces(tokenizer);
  if (!pieces) return std::nullopt;
  return json_of_pieces(*pieces).dump(2) + "\n";
}

}  // namespace trainer
