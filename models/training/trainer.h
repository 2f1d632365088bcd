#pragma once

#include "models/training/divergence_check.h"
#include "models/training/hook.h"
#include "models/training/training_parts.h"

namespace trainer {

/// The training loop.
class Trainer {
 public:
  explicit Trainer(TrainingParts& parts) : parts_(parts), divergence_(parts) {}

  /// Trains from where `run` stands to its last step, or until a rank signals to stop. Error(diverged) on all
  /// ranks when a step is not finite. Collective.
  void train(Progress& run, Hook& hooks);

 private:
  TrainingParts& parts_;
  DivergenceCheck divergence_;
};

}  // namespace trainer
