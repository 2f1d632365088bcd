#pragma once

#include <filesystem>

namespace trainer {

/// What a path given by a user means: a run directory, or one of its checkpoints.
struct FoundRun {
  std::filesystem::path run;         ///< where config.yaml lies
  std::filesystem::path checkpoint;  ///< empty when the path is the run's
};

/// Error(usage) when the path is neither.
FoundRun find_run(const std::filesystem::path& path);

}  // namespace trainer
