#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "models/checkpoints/checkpoint_hook.h"
#include "models/checkpoints/snapshot_copies.h"

namespace trainer {

/// Keeps a snapshot of the run every `train.snapshot.steps` steps: a checkpoint in the memory of each host,
/// which outlives the ranks, and from which a restart resumes (Gemini, Wang et al., SOSP 2023). The next step
/// begins when all hosts have it. It precedes the step's evaluation, so it must come before those hooks.
class SnapshotHook final : public Hook {
 public:
  struct Options {
    std::filesystem::path folder;  ///< the same path on every host, in an existing folder of its memory
    std::int64_t first_step = 0;   ///< steps done when the run begins
    std::function<void(const std::string&)> warn;  ///< of world rank 0; takes a sentence
    HostedStates* hosted = nullptr;  ///< states beside those of the optimizer shard; may be null
  };
  /// `base`: what stays the same in all snapshots. `checkpoints`: those of the run. Collective.
  SnapshotHook(TrainingParts& parts, Options options, CheckpointState base, CheckpointHook& checkpoints,
               Hook& all);

  bool reads_parameters(const Progress& run, std::int64_t done) override;
  void between_steps(Progress& run) override;

 private:
  bool is_due(const Progress& run, std::int64_t done) const;
  /// The reason that there is none; empty if there is one.
  std::string take(Progress& run);

  TrainingParts& parts_;
  Options options_;
  CheckpointHook& checkpoints_;
  SnapshotCopies copies_;
  RunSaver saver_;
  bool has_warned_ = false;
};

}  // namespace trainer
