#pragma once

#include <chrono>
#include <filesystem>

#include "cli/launching/private_folder.h"
#include "cli/terminal/arguments.h"

namespace trainer {

/// Runs the command line as `arguments.ranks` processes under the MPI launcher, restarts included, and
/// returns the exit code of the run. `start`: of this program.
int launch(const Arguments& arguments, std::chrono::steady_clock::time_point start);

/// True in a process that launch() started, whose -n is already done.
bool is_launched();

/// In such a process, before MPI begins: the folder of the files behind its shared memory, which has to
/// outlive MPI.
PrivateFolder join_shared_memory_folder();

/// In such a process: the folder for the run's snapshots, in the memory of this host, which outlives the
/// processes of one start. Empty if the host has none.
std::filesystem::path snapshot_folder();

}  // namespace trainer
