#include "cli/launching/launch_command.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "engine/core/error.h"
#include "engine/parallel/mpi_world.h"

namespace trainer {
namespace {

struct Outcome {
  int code = -1;
  std::string output;
  double seconds = 0;
};

Outcome run(const LaunchCommand& command) {
  std::string line;
  for (const auto& [name, value] : command.environment) line += fmt::format("{}={} ", name, value);
  for (const std::string& word : command.arguments) line += fmt::format("'{}' ", word);
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome;
  std::FILE* pipe = popen((line + "2>&1").c_str(), "r");
  REQUIRE(pipe);
  for (char text[256]; std::fgets(text, sizeof text, pipe);) outcome.output += text;
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

Outcome launch(int ranks, const std::string& argument) {
  return run(launch_command(ranks, {std::getenv("TRAINER_FAILING_RANKS"), argument}));
}

}  // namespace

TEST_CASE("the launch command starts as many ranks as asked for, on any machine", "[parallel]") {
  const Outcome outcome = launch(3, "work");
  CHECK(outcome.output == "3 ranks\n");
  CHECK(outcome.code == 0);
}

TEST_CASE("a rank that fails ends all ranks at once, with its exit code and its words only", "[parallel]") {
  const Outcome outcome = launch(3, "throw");
  CHECK(outcome.code == static_cast<int>(ExitCode::data));
  CHECK(outcome.output == "error: this rank's file is bad\n");
  CHECK(outcome.seconds < 3);
}

TEST_CASE("processes of a launcher that does not belong to the MPI report it", "[parallel]") {
  // What such a process sees: a launcher's variables, and an MPI that knows of no launcher.
  const Outcome outcome =
      run({.arguments = {std::getenv("TRAINER_FAILING_RANKS"), "work"},
           .environment = {{"OMPI_COMM_WORLD_SIZE", "3"}, {"OMPI_COMM_WORLD_RANK", "0"}}});
  CHECK(outcome.code == static_cast<int>(ExitCode::ranks));
  CHECK(outcome.output.starts_with("error: 3 processes were started by a launcher that does not belong to " +
                                   mpi_version()));
}

TEST_CASE("the MPI names itself and its version", "[parallel]") {
  const std::string version = mpi_version();
  CAPTURE(version);
  CHECK((version.starts_with("Open MPI ") || version.starts_with("MPICH ")));
  CHECK(version.find_first_not_of("0123456789.", version.rfind(' ') + 1) == std::string::npos);
}

}  // namespace trainer
