#include "cli/launching/job_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace trainer {
namespace {

using Clock = std::chrono::steady_clock;

/// Processes that see the same id share the clock, which counts from the boot of their machine.
std::string clock_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  return file >> id ? id : "unknown";
}

}  // namespace

void set_job_start(Clock::time_point start) {
  const auto age = Clock::now() - start;
  const std::string text = fmt::format("{} {} {}", clock_id(), start.time_since_epoch().count(), age.count());
  ::setenv(kJobStartVariable, text.c_str(), 1);
}

Clock::time_point job_start(Clock::time_point own_start) {
  const char* text = std::getenv(kJobStartVariable);
  std::istringstream words(text ? text : "");
  std::string clock;
  Clock::rep start = 0, age = 0;
  if (!(words >> clock >> start >> age)) return own_start;
  if (clock != clock_id() || clock == "unknown") return own_start - Clock::duration(age);
  return std::min(own_start, Clock::time_point(Clock::duration(start)));
}

}  // namespace trainer
