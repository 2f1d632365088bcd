#include "engine/core/error.h"

#include <catch2/catch.hpp>

namespace trainer {

TEST_CASE("a diagnostic reads: what, where, the line, facts, help", "[core]") {
  const Diagnostic diagnostic{.what = "unknown key `filter` in conv",
                              .place = "a.yaml:11:14",
                              .excerpt = "11 | - conv: {filter: 16}\n   |          ^^^^^^",
                              .notes = {"conv takes filters, kernel"},
                              .help = "did you mean `filters`?"};
  CHECK(diagnostic.text() ==
        "error: unknown key `filter` in conv\n  --> a.yaml:11:14\n"
        "11 | - conv: {filter: 16}\n   |          ^^^^^^\n"
        "   = conv takes filters, kernel\nhelp: did you mean `filters`?");
}

TEST_CASE("an error of several mistakes prints them all", "[core]") {
  const Error error(ExitCode::usage, {Diagnostic{.what = "one"}, Diagnostic{.what = "two"}});
  CHECK(std::string(error.what()) == "error: one\n\nerror: two");
  CHECK(error.code() == ExitCode::usage);
}

TEST_CASE("a message holds no control characters, also from files", "[core]") {
  const Diagnostic diagnostic{.what = "\x1b[2J bad\x7f",
                              .place = "a\r\n.yaml",
                              .excerpt = "1 | \a\n  | ^",
                              .notes = {"\xc2\x9b"
                                        "1m",
                                        "\xc2z", "\xc3\xa9"},
                              .help = "one\nerror: two"};
  CHECK(diagnostic.text() ==
        "error: \\x1b[2J bad\\x7f\n  --> a\\r\\n.yaml\n1 | \\x07\n  | ^\n   = \\u009b1m\n   = \\xc2z\n   = "
        "\xc3\xa9\nhelp: one\\nerror: two");
}

}  // namespace trainer
