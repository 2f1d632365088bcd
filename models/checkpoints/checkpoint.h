#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "models/checkpoints/checkpoint_state.h"
#include "models/formats/safetensors.h"

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
/// The same look at it, without the numbers.
CheckpointState verify_checkpoint(const std::filesystem::path& directory);

/// Error(weights) for something wrong with its state.json; the help is that of read_checkpoint().
Error damaged_state(const std::filesystem::path& directory, const std::string& what);

/// What `last` or `best` stands for: the step-N beside it. Any other path is itself. Error(weights), with
/// what would be right, where one of these is a link to anything else, or a step-N is a link.
std::filesystem::path named_checkpoint(const std::filesystem::path& path);
/// The same, and Error(weights) where that step-N is not there, which tells of those that are, or where a
/// file in it is a link.
std::filesystem::path present_checkpoint(const std::filesystem::path& path);

/// The newest one in a run's folder: `last`, or where a copy has lost that link, or a process was killed
/// before it had made it, the last step-N. Empty without any.
std::filesystem::path newest_checkpoint(const std::filesystem::path& folder);

/// The step of what `last` or `best` stands for; -1 where that cannot be told. Copies that were made with
/// links followed have directories there.
std::int64_t step_behind(const std::filesystem::path& link);

/// What it takes to recognise a file.
FileSeal seal_of(const std::filesystem::path& path);

/// Error(failure) where the folder of checkpoints is a link.
void refuse_link(const std::filesystem::path& folder);

/// Where a process was killed while it replaced a checkpoint by one of the same step, on a file system that
/// cannot do that at once: gives the old one its name back. For who holds the run directory's lock.
void put_back_replaced(const std::filesystem::path& folder);

/// The checkpoints of a run directory: step-N folders, with `last` and `best` as relative links. What has its
/// final name is whole. Not collective: rank 0 has one. Every failure of the system is Error(failure), and
/// what existed is then as it was.
class CheckpointFolder {
 public:
  static constexpr const char* kModel = "model.safetensors";
  static constexpr const char* kOptimizer = "optimizer.safetensors";

  /// `keep`: so many of the newest stay, and the best.
  explicit CheckpointFolder(std::filesystem::path folder, std::int64_t keep = 2);

  /// The run goes on from `step`: links to later checkpoints are set back, `best` to the one of `best_step`.
  /// What processes before this one have begun and not finished is removed; where a copy has directories in
  /// their place, links are made again. Error(weights) where such a directory holds what is nowhere else and
  /// cannot be kept. A `best_step` of -1: there is none.
  void go_on(std::int64_t step, std::int64_t best_step);
  /// A new directory for the files of a checkpoint, under a name that nobody else has.
  std::filesystem::path begin(std::int64_t step);
  /// Removes it again.
  void abandon();
  /// Once its files are on the disk: adds the state, gives it its name, points `last` (and `best`) at it and
  /// removes those that need not stay.
  void commit(const CheckpointState& state, bool best);
  /// Where the newest one lies; empty when there is none.
  const std::filesystem::path& last() const { return last_; }

 private:
  /// A directory in a link's place becomes the checkpoint of its step, unless that is there.
  void keep_copied(const std::string& link) const;
  void point(const std::string& link, const std::string& target) const;
  void remove_old(std::int64_t newest) const;

  std::filesystem::path folder_, last_, best_, partial_;
  std::int64_t keep_;
};

}  // namespace trainer
