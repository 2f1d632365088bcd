#pragma once

#include <filesystem>

namespace trainer {

/// A run directory, or one of its checkpoints, that a user's path leads to.
struct FoundRun {
  std::filesystem::path run;         ///< where config.yaml lies
  std::filesystem::path checkpoint;  ///< empty when the path is the run's
};

/// Error(usage) when the path is neither.
FoundRun find_run(const std::filesystem::path& path);
/// The run's directory. Error(usage) also for a checkpoint that lies in none.
std::filesystem::path run_directory_of(const std::filesystem::path& path);

}  // namespace trainer
