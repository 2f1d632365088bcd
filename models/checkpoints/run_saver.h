#pragma once

#include <functional>

#include "models/checkpoints/checkpoint_writer.h"
#include "models/training/divergence_check.h"
#include "models/training/hook.h"
#include "models/training/progress.h"
#include "models/training/training_parts.h"

namespace trainer {

/// Makes checkpoints of a run between two steps, all into one folder. Every rank has one.
class RunSaver {
 public:
  /// `base`: what stays the same in all checkpoints of the run. `folder` matters on world rank 0 only. `all`:
  /// the hooks of the run. `hosted`: states beside those of the optimizer shard; may be null. Collective.
  RunSaver(TrainingParts& parts, CheckpointFolder folder, CheckpointState base, Hook& all,
           HostedStates* hosted);

  /// Begins a checkpoint. `pending`: what follows the step is still to be done. `prepare`: see
  /// CheckpointWriter::begin(). Error(diverged) if a value is not finite; UnwritableCheckpoint. Collective.
  void begin(Progress& run, bool pending, bool best, const std::function<void()>& prepare);
  CheckpointWriter& writer() { return writer_; }
  const CheckpointWriter& writer() const { return writer_; }

 private:
  TrainingParts& parts_;
  CheckpointState base_;
  Hook& all_;
  DivergenceCheck divergence_;
  CheckpointWriter writer_;
};

}  // namespace trainer
