#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "models/export/safetensors.h"

namespace trainer {

/// What a checkpoint holds, as whole tensors in file layout.
struct Checkpoint {
  std::vector<NamedTensor> model;
  std::vector<NamedTensor> optimizer;  ///< "conv1.weight.momentum"
  std::string state;                   ///< state.json
};

/// What state.json says.
struct CheckpointState {
  std::int64_t step = 0, steps_per_epoch = 1;
  std::uint64_t seed = 1;
};
std::string checkpoint_state(const CheckpointState& state);

/// The checkpoints of a run directory: step-N folders, with `last` and `best` as relative links. What has its
/// final name is whole. Not collective: rank 0 has one.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path folder);

  /// Writes step-N, points `last` (and `best`) at it and removes what neither points at any more. Gives the
  /// path of step-N. Error(failure) when the system refuses; then all that existed is as it was.
  std::filesystem::path save(std::int64_t step, const Checkpoint& checkpoint, bool best);
  /// Where the newest one lies; empty when there is none.
  const std::filesystem::path& last() const { return last_; }

 private:
  void point(const std::string& link, const std::string& target) const;

  std::filesystem::path folder_, last_, best_;
};

}  // namespace trainer
