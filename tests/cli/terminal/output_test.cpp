#include "cli/terminal/output.h"

#include <catch2/catch.hpp>

#include "tests/cli/terminal/standard_output.h"

namespace trainer {

TEST_CASE("results for people show control characters, formats for programs keep them", "[cli]") {
  CHECK(output_of([] { print_result("a\x1b[2J\nb"); }) == "a\\x1b[2J\nb");
  CHECK(output_of([] { print_bytes("a\x1b[2J\nb"); }) == "a\x1b[2J\nb");
}

TEST_CASE("a text in pieces is escaped on a terminal alone", "[cli]") {
  const auto shown = [](bool is_terminal) {
    return output_of([&] {
      TextStream stream(is_terminal);
      for (const char* piece : {"a\t\x1b[", "b\nä", "\xff"}) stream.add(piece);
    });
  };
  CHECK(shown(true) == "a\t\\x1b[b\nä\\xff");
  CHECK(shown(false) == "a\t\x1b[b\nä\xff");
}

}  // namespace trainer
