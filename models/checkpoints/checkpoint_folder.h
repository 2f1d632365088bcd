#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "models/checkpoints/checkpoint_paths.h"
#include "models/checkpoints/checkpoint_state.h"

namespace trainer {

/// The checkpoints of a run directory: step-N directories, with `last` and `best` as relative links. A
/// checkpoint with its final name is complete. Only rank 0 has one. Error(failure) if the system refuses;
/// what existed is then unchanged.
class CheckpointFolder {
 public:
  /// `keep`: newest checkpoints that stay, besides the best one. `data`: the text of each one's data.json;
  /// empty: they have none.
  explicit CheckpointFolder(std::filesystem::path folder, std::int64_t keep = 2, std::string data = "");

  /// Sets the links back to `step` and `best_step` (-1: none), and removes unfinished checkpoints of earlier
  /// processes. A copy that followed links has directories in their place: they become links again.
  /// Error(weights) if such a directory holds a checkpoint that exists nowhere else and cannot be kept.
  void resume(std::int64_t step, std::int64_t best_step);
  /// Creates a directory with a unique name for the files of a checkpoint.
  std::filesystem::path begin(std::int64_t step);
  /// Removes it again.
  void abandon();
  /// Call when its files are on the disk: writes the state, renames the directory, points `last` (and `best`)
  /// at it and removes old checkpoints.
  void commit(CheckpointState state, bool best);
  /// The newest checkpoint; empty if there is none.
  const std::filesystem::path& last() const { return last_; }

 private:
  /// Turns a directory in a link's place into the checkpoint of its step, unless that exists.
  void keep_copied(const std::string& link) const;
  void point(const std::string& link, const std::string& target) const;
  void remove_old(std::int64_t newest) const;

  std::filesystem::path folder_, last_, best_, partial_;
  std::int64_t keep_;
  std::string data_;
};

}  // namespace trainer
