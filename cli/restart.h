#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/arguments.h"

namespace trainer {

/// Where rank 0 tells the launcher which run its processes make, so that it can start others to go on with
/// it. A file for as long as this object lives; the processes learn its name from their environment.
class RunNote {
 public:
  RunNote();
  ~RunNote();
  RunNote(const RunNote&) = delete;
  RunNote& operator=(const RunNote&) = delete;
  /// The run directory; empty before there is one.
  std::filesystem::path run() const;

 private:
  std::filesystem::path file_;
};

/// Tells the launcher, if that wants to know, where the run is.
void note_run(const std::filesystem::path& directory);

/// Makes the processes that are started from now on go on with `run`.
void restart_from(const std::filesystem::path& run);
bool is_restart();
/// In such a process: the arguments that the command line means now, of so many ranks.
void apply_restart(Arguments& arguments, int ranks);

/// Tells the processes that are started from now on when their job began.
void note_start(std::chrono::steady_clock::time_point start);
/// In such a process: then, by this host's clocks; else when it began itself.
std::chrono::steady_clock::time_point start_of_job(std::chrono::steady_clock::time_point own_start);

/// As many ranks as can go on when one of them is lost: the columns of a mesh stay whole where they can.
int ranks_after_loss(const Arguments& arguments, int ranks);

}  // namespace trainer
