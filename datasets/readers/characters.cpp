#include <fmt/format.h>

#include <algorithm>

#include "datasets/readers/tokens.h"
#include "engine/core/error.h"
#include "engine/core/utf8.h"

namespace trainer {
namespace {

[[noreturn]] void fail_at(std::string_view text, std::size_t at, const std::string& path) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  throw Error(ExitCode::data,
              {Diagnostic{.what = "the text is not UTF-8",
                          .place = fmt::format("{}:{}:{}", path, line, at - line_begin + 1),
                          .notes = {fmt::format("the byte {:02x} at offset {} begins no character",
                                                static_cast<unsigned char>(text[at]), at)},
                          .help = "`tokens: bytes` takes any file"}});
}

}  // namespace

TokenizedText tokens_of_characters(std::string_view text, const std::string& path) {
  TokenizedText result;
  result.tokens.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t character = next_character(text, at);
    if (character == kNoCharacter) fail_at(text, at, path);
    result.tokens.push_back(character);
  }
  const auto last = std::ranges::max_element(result.tokens);
  std::vector<std::uint32_t> places(last == result.tokens.end() ? 0 : std::size_t{*last} + 1);
  for (const std::uint32_t character : result.tokens) places[character] = 1;
  std::uint32_t next = 0;
  for (std::uint32_t& place : places)
    if (place != 0) place = next++;
  for (std::uint32_t& token : result.tokens) token = places[token];
  result.vocabulary = static_cast<int>(next);
  result.texts.resize(next);
  std::size_t at = 0;
  for (const std::uint32_t token : result.tokens) {
    const std::size_t begin = at;
    next_character(text, at);
    if (result.texts[token].empty()) result.texts[token] = text.substr(begin, at - begin);
  }
  return result;
}

}  // namespace trainer
