#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/export/safetensors.h"
#include "models/training/checkpoint_state.h"

namespace trainer {

/// What a checkpoint holds, as whole tensors in file layout.
struct Checkpoint {
  std::vector<NamedTensor> model;
  std::vector<NamedTensor> optimizer;  ///< "conv1.weight.momentum"
  CheckpointState state;
};

/// Reads the checkpoint in a directory. Error(weights) when a file is missing or is not as it was written;
/// the help names the checkpoint before it, where there is one.
Checkpoint read_checkpoint(const std::filesystem::path& directory);

/// The checkpoints of a run directory: step-N folders, with `last` and `best` as relative links. What has its
/// final name is whole. Not collective: rank 0 has one.
class CheckpointFolder {
 public:
  /// `keep`: so many of the newest stay, and the best.
  explicit CheckpointFolder(std::filesystem::path folder, std::int64_t keep = 2);

  /// Writes step-N with the state of that step, points `last` (and `best`) at it and removes those that need
  /// not stay. Gives the path of step-N. Error(failure) when the system refuses; then all that
  /// existed is as it was.
  std::filesystem::path save(Checkpoint checkpoint, bool best);
  /// Where the newest one lies; empty when there is none.
  const std::filesystem::path& last() const { return last_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  void point(const std::string& link, const std::string& target) const;
  void remove_old(std::int64_t newest) const;

  std::filesystem::path folder_, last_, best_;
  std::int64_t keep_;
};

}  // namespace trainer
