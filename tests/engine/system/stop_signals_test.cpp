#include "engine/system/stop_signals.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <optional>

namespace trainer {

TEST_CASE("a stop signal after the end of a run does not change its exit code", "[core]") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    {
      StopSignals signals(true);
      ::raise(SIGUSR1);
      ::raise(SIGUSR1);
      if (!StopSignals::received()) ::_exit(1);
    }
    ::raise(SIGUSR1);
    ::_exit(130);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
}

TEST_CASE("the first interrupt of a run counts as the first one after an interrupted run, too", "[core]") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (int run = 0; run < 2; ++run) {
      StopSignals signals(true);
      ::raise(SIGINT);
      if (!StopSignals::received()) ::_exit(1);
    }
    ::_exit(130);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
}

TEST_CASE("a stop signal during MPI_Init is reported afterwards", "[core]") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::optional<HeldStop> held(std::in_place);
    ::raise(SIGUSR1);
    StopSignals signals(true);
    const bool early = StopSignals::received();
    held.reset();
    ::_exit(!early && StopSignals::received() ? 130 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
}

}  // namespace trainer
