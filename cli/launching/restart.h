#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/terminal/arguments.h"
#include "engine/parallel/mpi_world.h"

namespace trainer {

// Processes tell the program that launched them, by lines that only it sees: which run they make, that they
// stopped as they should, and with --restarts, when the job breaks down, each that is not lost where it is.

/// From rank 0: where the run is.
void tell_run(const std::filesystem::path& directory);
/// From rank 0: the run was stopped, or is finished, and all that is to be saved is.
void tell_stopped();
void tell_finished();
/// From now on this rank, one of `hosts` hosts' ranks, will say that it is left.
void prepare_to_be_left(int rank, int hosts);

/// The same on the launching side.
struct Told {
  std::filesystem::path run;  ///< empty before there is one
  bool stopped = false, finished = false;
  int ranks = 0;                 ///< that are left; 0 where none could say so
  std::vector<HostShare> hosts;  ///< where they are; empty where all was one host
};
Told told_by(const std::vector<std::string>& lines);

/// The ranks that can go on of `ranks` that began: those that are left, but fewer than before, and in whole
/// columns of a mesh where that can be.
int ranks_to_go_on(const Arguments& arguments, int ranks, const Told& told);

/// The environment variables that tell processes what follows.
std::vector<std::string> restart_variables();

/// Makes the processes that are started from now on go on with `run`.
void restart_from(const std::filesystem::path& run);
bool is_restart();
/// In such a process: the arguments that the command line means now, of so many ranks.
void apply_restart(Arguments& arguments, int ranks);

/// Tells the processes that are started from now on when their job began.
void note_start(std::chrono::steady_clock::time_point start);
/// In such a process: then, by this host's clocks; else when it began itself.
std::chrono::steady_clock::time_point start_of_job(std::chrono::steady_clock::time_point own_start);

}  // namespace trainer
