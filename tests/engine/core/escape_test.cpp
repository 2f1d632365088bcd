#include "engine/core/escape.h"

#include <catch2/catch.hpp>
#include <string>

namespace trainer {

TEST_CASE("control characters become visible", "[core]") {
  using Row = std::tuple<std::string, std::string>;
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      Row{"\x1b[2J", "\\x1b[2J"},
      Row{"\a\b\v\f", "\\x07\\x08\\x0b\\x0c"},
      Row{"a\nb\tc\r", "a\\nb\\tc\\r"},
      Row{std::string("a\0b", 3), "a\\x00b"},
      Row{"\x7f", "\\x7f"},
      Row{"\xc2\x9b"
          "1m",
          "\\u009b1m"},
      Row{"\xc2\x80\xc2\x9f\xc2\xa0", "\\u0080\\u009f\xc2\xa0"},
  }));
  CHECK(escaped(text) == expected);
}

TEST_CASE("bytes that are not UTF-8 become visible, UTF-8 stays", "[core]") {
  using Row = std::tuple<std::string, std::string>;
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      Row{"Größe 10^9 日本 \xf0\x9f\x98\x80", "Größe 10^9 日本 \xf0\x9f\x98\x80"},
      Row{"", ""},
      Row{"a\xff\xfe", "a\\xff\\xfe"},
      Row{"\x9b[2J", "\\x9b[2J"},              // a bare C1 byte
      Row{"\xc2z\xc2", "\\xc2z\\xc2"},         // cut short
      Row{"\xc0\x8a", "\\xc0\\x8a"},           // a newline, longer than needed
      Row{"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // half of a surrogate pair
      Row{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
  }));
  CHECK(escaped(text) == expected);
}

TEST_CASE("a text that is escaped twice is escaped once", "[core]") {
  const std::string text = "C:\\new\x1b\n\xff";
  CHECK(escaped(text) == "C:\\new\\x1b\\n\\xff");
  CHECK(escaped(escaped(text)) == escaped(text));
}

TEST_CASE("lines may stay", "[core]") { CHECK(escaped_lines("a\x1b\nb\r\n") == "a\\x1b\nb\\r\n"); }

TEST_CASE("a field of a CSV file is quoted where it must be", "[core]") {
  CHECK(csv_field("") == "");
  CHECK(csv_field("a b") == "a b");
  CHECK(csv_field("a,b") == "\"a,b\"");
  CHECK(csv_field("a\"b") == "\"a\"\"b\"");
  CHECK(csv_field("a\nb") == "\"a\nb\"");
}

}  // namespace trainer
