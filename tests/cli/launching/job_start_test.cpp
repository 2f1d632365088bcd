#include "cli/launching/job_start.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

namespace trainer {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST_CASE("a launched process counts its time from the job's start, exactly on the same host",
          "[launching]") {
  const auto now = Clock::now();
  CHECK(job_start(now) == now);
  set_job_start(now - 100s);
  CHECK(job_start(now) == now - 100s);
  CHECK(job_start(now - 200s) == now - 200s);
  ::unsetenv(kJobStartVariable);
}

TEST_CASE("on another host, whose clock counts from another boot, the job's age at the launch counts",
          "[launching]") {
  const auto now = Clock::now();
  ::setenv(kJobStartVariable, ("another-boot 5 " + std::to_string(Clock::duration(100s).count())).c_str(), 1);
  CHECK(job_start(now) == now - 100s);
  ::setenv(kJobStartVariable, "damaged", 1);
  CHECK(job_start(now) == now);
  ::unsetenv(kJobStartVariable);
}

}  // namespace trainer
