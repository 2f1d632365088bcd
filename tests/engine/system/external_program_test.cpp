#include "engine/system/external_program.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace trainer {

TEST_CASE("a program gives its exit code, also to a process that was started with SIGCHLD ignored",
          "[core]") {
  const TemporaryFolder folder;
  const bool is_ignored = GENERATE(false, true);
  std::signal(SIGCHLD, is_ignored ? SIG_IGN : SIG_DFL);
  ExternalProgram program({.words = {"sh", "-c", "exit 3"},
                           .output = folder.path() / "output",
                           .errors = folder.path() / "errors"});
  std::optional<int> code;
  for (int i = 0; i < 1000 && !code; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    code = program.poll();
  }
  std::signal(SIGCHLD, SIG_DFL);
  CHECK(code == 3);
}

}  // namespace trainer
