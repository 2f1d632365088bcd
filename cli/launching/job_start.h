#pragma once

#include <chrono>

namespace trainer {

inline constexpr const char* kJobStartVariable = "TRAINER_START";

/// Passes the start of this job to the processes that are launched from now on.
void set_job_start(std::chrono::steady_clock::time_point start);

/// In a launched process: when its job started, restarts included; else `own_start`. Exact on the launcher's
/// host; another host counts from its own start, without the time of the launcher. Uses monotonic clocks.
std::chrono::steady_clock::time_point job_start(std::chrono::steady_clock::time_point own_start);

}  // namespace trainer
