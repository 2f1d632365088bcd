#include "cli/terminal/shell_line.h"

#include <catch2/catch.hpp>

namespace trainer {

TEST_CASE("a command line is written so that a shell reads the same words", "[cli]") {
  CHECK(shell_line({"trainer", "-s", "train.epochs=1"}) == "trainer -s train.epochs=1");
  CHECK(shell_line({"a b", "it's", "", "$x", "*"}) == R"('a b' 'it'\''s' '' '$x' '*')");
  CHECK(shell_line({"a\x1b\n'\\"}) == R"($'a\x1b\x0a\'\\')");
}

}  // namespace trainer
