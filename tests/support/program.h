#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace trainer {

/// What a program left behind.
struct ProgramResult {
  int code = -1;  ///< 128 + the signal that ended it
  bool timed_out = false;
  std::string out, err;
  double seconds = 0;
  long peak_kib = 0;  ///< the most memory that one of its processes held
};

struct ProgramOptions {
  std::filesystem::path directory = {};  ///< where it runs
  std::vector<std::pair<std::string, std::string>> environment = {};
  double seconds = 60;  ///< then it and all it started are killed
};

/// Runs a program to its end, without a terminal.
ProgramResult run_program(const std::vector<std::string>& words, const ProgramOptions& options);

}  // namespace trainer
