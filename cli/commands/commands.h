#pragma once

#include <chrono>
#include <string_view>

#include "cli/terminal/arguments.h"
#include "engine/parallel/communicator.h"

namespace trainer {

/// The input of a command. All ranks run it: every command is collective.
struct Job {
  const Arguments& arguments;
  Communicator& world;
  std::chrono::steady_clock::time_point start;  ///< of the job, restarts included

  /// On rank 0: writes a result for people on standard output.
  void print(std::string_view text) const;
  /// The same for a format that programs read: no character is escaped.
  void print_as_it_is(std::string_view bytes) const;
  /// On rank 0: writes a message on standard error.
  void warn(std::string_view text) const;
};

/// Error(ranks) if several processes run a command that is for one.
void require_one_process(const Job& job);

/// Returns the exit code of the program: 130 if the run was stopped and saved.
int train_command(const Job& job);
void new_command(const Job& job);
/// Returns the exit code of the program: 1 if a gradient is wrong.
int check_command(const Job& job);
void config_command(const Job& job);
void summary_command(const Job& job);
void plan_command(const Job& job);
void forecast_command(const Job& job);
void schema_command(const Job& job);
void completion_command(const Job& job);
void info_command(const Job& job);
void time_command(const Job& job);
void eval_command(const Job& job);
/// Returns the exit code of the program: 3 if inputs were skipped.
int predict_command(const Job& job);
/// Returns the exit code of the program: 3 if prompts were skipped.
int generate_command(const Job& job);
void export_command(const Job& job);
void pack_command(const Job& job);
void fetch_command(const Job& job);
void report_command(const Job& job);
void compare_command(const Job& job);
/// Returns the exit code of the program: 130 if it was stopped.
int sweep_command(const Job& job);
int cv_command(const Job& job);
void lr_find_command(const Job& job);
/// Returns the exit code of the program: 1 if the run is not what it claims.
int verify_command(const Job& job);
/// Returns the exit code of the program: 1 if the runs part.
int bisect_command(const Job& job);
void bundle_command(const Job& job);

}  // namespace trainer
