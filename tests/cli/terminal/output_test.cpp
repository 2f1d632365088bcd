#include "cli/terminal/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>

#include "engine/system/files.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

/// What `write` leaves in a file that is standard output meanwhile.
template <class Write>
std::string output_of(const Write& write) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "out";
  std::fflush(stdout);
  const Descriptor before(::dup(STDOUT_FILENO)), opened(::open(file.c_str(), O_CREAT | O_WRONLY, 0600));
  ::dup2(opened.number(), STDOUT_FILENO);
  write();
  std::fflush(stdout);
  ::dup2(before.number(), STDOUT_FILENO);
  return read_file(file, ExitCode::failure, 1000);
}

}  // namespace

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
