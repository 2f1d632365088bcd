#include "cli/commands/preflight_check.h"

#include <catch2/catch.hpp>

#include "cli/launching/collective_errors.h"
#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

/// The failure of ranks with these facts; code ok if they agree.
Failure outcome(const std::vector<CommonFact>& facts) {
  try {
    preflight_check(test_world(), facts);
  } catch (...) {
    return current_failure();
  }
  return {.code = ExitCode::ok};
}

}  // namespace

TEST_CASE("ranks with the same facts agree", "[cli]") {
  CHECK(outcome({{.name = "one", .text = "a"}, {.name = "two", .text = "b\nc"}}).code == ExitCode::ok);
}

TEST_CASE("the first fact and line in which ranks differ are reported, with the ranks on each side",
          "[cli][2+ ranks]") {
  const int last = test_world().size() - 1;
  const bool odd = test_world().rank() == last;
  const Failure failure = outcome({{.name = "one", .text = "same"},
                                   {.name = "file",
                                    .text = odd ? "a: 1\n  b: 3\nc: 5" : "a: 1\n  b: 2\nc: 4",
                                    .code = ExitCode::data,
                                    .help = "one file"},
                                   {.name = "three", .text = odd ? "x" : "y"}});
  CHECK(failure.code == ExitCode::data);
  if (test_world().rank() != 0) return;
  CHECK_THAT(failure.text, Catch::StartsWith("error: the ranks do not have the same file\n   = ranks 0, 1") &&
                               Catch::Contains(": b: 2\n   = rank " + std::to_string(last) + " on ") &&
                               Catch::EndsWith(": b: 3\nhelp: one file"));
}

TEST_CASE("a rank whose text ends sooner differs", "[cli][2+ ranks]") {
  const Failure failure = outcome({{.name = "model", .text = test_world().rank() == 0 ? "a\nb" : "a"}});
  CHECK(failure.code == ExitCode::usage);
  if (test_world().rank() == 0) CHECK_THAT(failure.text, Catch::EndsWith(": nothing"));
}

TEST_CASE("the first fact is the build, by the linker's hash", "[cli]") {
  const std::string text = program_facts({}).front().text;
  CHECK_THAT(text, Catch::Matches("trainer .*, build [0-9a-f]{40}"));
}

}  // namespace trainer
