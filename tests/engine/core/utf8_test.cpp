#include "engine/core/utf8.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace trainer {

TEST_CASE("characters of one to four bytes are decoded one after the other", "[utf8]") {
  const std::string text = "z\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80";
  std::vector<std::uint32_t> characters;
  for (std::size_t at = 0; at < text.size();) characters.push_back(next_character(text, at));
  CHECK(characters == std::vector<std::uint32_t>{'z', 0xE4, 0x20AC, 0x1F600});
  CHECK(is_utf8(text));
  CHECK(is_utf8(""));
}

TEST_CASE("bytes that are no character are refused where they begin", "[utf8]") {
  const std::string bad = GENERATE("a\xA4", "a\xC3", "a\xC0\x80", "a\xE0\x80\x80", "a\xED\xA0\x80",
                                   "a\xF0\x80\x80\x80", "a\xF4\x90\x80\x80", "a\xFF", "a\xE2\x82z");
  std::size_t at = 1;
  CHECK(next_character(bad, at) == kNoCharacter);
  CHECK(at == 1);
  CHECK_FALSE(is_utf8(bad));
}

}  // namespace trainer
