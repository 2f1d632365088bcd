#pragma once

#include <chrono>
#include <string_view>

#include "cli/terminal/arguments.h"
#include "engine/parallel/communicator.h"

namespace trainer {

/// What a command is given. All ranks run it; every command is collective.
struct Job {
  const Arguments& arguments;
  Communicator& world;
  std::chrono::steady_clock::time_point start;  ///< of the program, restarts included

  /// Writes on standard output, a command's result; on rank 0 only.
  void print(std::string_view text) const;
  /// The same on standard error.
  void warn(std::string_view text) const;
};

/// What the program is to return: 130 when the run was stopped.
int train_command(const Job& job);
void check_command(const Job& job);
void config_command(const Job& job);
void summary_command(const Job& job);
void schema_command(const Job& job);
void info_command(const Job& job);
void time_command(const Job& job);
void eval_command(const Job& job);
void predict_command(const Job& job);
void generate_command(const Job& job);
void report_command(const Job& job);
void compare_command(const Job& job);

}  // namespace trainer
