#pragma once

#include <chrono>

#include "cli/terminal/arguments.h"

namespace trainer {

/// Starts the same command line as `arguments.ranks` processes under the MPI launcher and waits for its end;
/// gives the exit code that the run means. `start`: of this program.
int launch(const Arguments& arguments, std::chrono::steady_clock::time_point start);

/// True in a process that launch() started, whose -n is already done.
bool was_launched();

}  // namespace trainer
