#pragma once

#include "models/training/observers.h"
#include "models/training/program_scores.h"
#include "models/training/review.h"
#include "models/training/stop_request.h"
#include "models/training/training_parts.h"

namespace trainer {

/// Evaluates the model between steps as `train.evaluate` schedules it, with the EMA of the weights if there
/// is one.
class EvaluationHook final : public Hook {
 public:
  /// `all`: the hooks of the run. `review`, null on all ranks or on none, becomes the review of the best
  /// evaluation on data rank 0. `folder`: of what programs of train.metrics read and write; on world rank 0.
  EvaluationHook(TrainingParts& parts, const Observers& observers, const StopRequest& stop, Hook& all,
                 Review* review, const std::filesystem::path& folder);

  /// Stops the run if a stop was requested in its midst.
  bool reads_parameters(const Progress& run, std::int64_t done) override { return is_due(run, done); }
  void between_steps(Progress& run) override;

 private:
  bool is_due(const Progress& run, std::int64_t done) const;

  TrainingParts& parts_;
  const Observers& observers_;
  const StopRequest& stop_;
  Hook& all_;
  Review* review_;
  std::optional<ProgramScores> programs_;
};

/// Reports the end of each epoch.
class EpochHook final : public Hook {
 public:
  EpochHook(TrainingParts& parts, const Observers& observers) : parts_(parts), observers_(observers) {}

  void between_steps(Progress& run) override;

 private:
  TrainingParts& parts_;
  const Observers& observers_;
};

}  // namespace trainer
