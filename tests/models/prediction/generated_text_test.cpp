#include "models/prediction/generated_text.h"

#include <catch2/catch.hpp>

namespace trainer {

TEST_CASE("a character is held back until it is whole", "[generation]") {
  GeneratedText text;
  CHECK(text.add("a\xE2\x82") == "a");
  CHECK(text.add("").empty());
  CHECK(text.add("\xAC"
                 "b") == "€b");
  CHECK(text.add("\xF0\x9F\x98").empty());
  CHECK(text.end() == "\uFFFD");
}

TEST_CASE("each maximal subpart of a character becomes U+FFFD, as in Python", "[generation]") {
  // The example of Unicode 15, table 3-8, then bytes that begin nothing.
  const std::string bytes =
      "a\xF1\x80\x80\xE1\x80\xC2"
      "b\x80"
      "c\x80\xBF"
      "d\xED\xA0\x80\xFF";
  const std::string r = "\uFFFD", expected = "a" + r + r + r + "b" + r + "c" + r + r + "d" + r + r + r + r;
  GeneratedText at_once, by_bytes;
  CHECK(at_once.add(bytes) + at_once.end() == expected);
  std::string pieces;
  for (const char byte : bytes) pieces += by_bytes.add(std::string(1, byte));
  CHECK(pieces + by_bytes.end() == expected);
}

TEST_CASE("a text ends before the first stop, which may come in pieces", "[generation]") {
  GeneratedText text({"\n\n", "END"});
  CHECK(text.add("one\n") == "one");
  CHECK(text.add("two E") == "\ntwo ");
  CHECK(text.add("N").empty());
  CHECK(!text.stopped());
  CHECK(text.add("d EENDx") == "ENd E");
  CHECK(text.stopped());
  CHECK(text.add("more").empty());
  CHECK(text.end().empty());
}

TEST_CASE("what may begin a stop is part of the text when no more comes", "[generation]") {
  GeneratedText text({"aab"});
  CHECK(text.add("xaa") == "x");
  CHECK(text.add("a") == "a");
  CHECK(text.end() == "aa");
}

TEST_CASE("a stop inside a character does not split it", "[generation]") {
  GeneratedText text({"\x82"});
  CHECK(text.add("a\xE2\x82\xAC") == "a\uFFFD");
  CHECK(text.stopped());
}

}  // namespace trainer
