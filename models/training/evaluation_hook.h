#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

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
  struct Options {
    Review* review = nullptr;      ///< null on all ranks or on none; that of the best one, on data rank 0
    std::filesystem::path folder;  ///< of what programs of train.metrics read and write; of world rank 0
    std::function<void(const std::string&)> warn;  ///< of world rank 0; takes a sentence
  };
  /// `all`: the hooks of the run.
  EvaluationHook(TrainingParts& parts, const Observers& observers, const StopRequest& stop, Hook& all,
                 Options options);

  /// Stops the run if a stop was requested in its midst.
  bool reads_parameters(const Progress& run, std::int64_t done) override { return is_due(run, done); }
  void between_steps(Progress& run) override;

 private:
  bool is_due(const Progress& run, std::int64_t done) const;
  /// Warns of a loss that is not finite, unless that of the evaluation before was not, either.
  void check_loss(const Progress& run);

  TrainingParts& parts_;
  const Observers& observers_;
  const StopRequest& stop_;
  Hook& all_;
  Options options_;
  bool was_finite_ = true;
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
