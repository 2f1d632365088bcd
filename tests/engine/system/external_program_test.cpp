#include "engine/system/external_program.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace trainer {

TEST_CASE("a program gives its exit code", "[core]") {
  const TemporaryFolder folder;
  ExternalProgram program({.words = {"sh", "-c", "exit 3"},
                           .output = folder.path() / "output",
                           .errors = folder.path() / "errors"});
  std::optional<int> code;
  for (int i = 0; i < 1000 && !code; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    code = program.poll();
  }
  CHECK(code == 3);
}

}  // namespace trainer
