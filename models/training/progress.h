#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "models/training/checkpoint.h"
#include "models/training/divergence.h"
#include "models/training/observer.h"

namespace trainer {

/// Where a run stands, as its observers are told. Nothing is allocated from one step to the next.
struct Progress {
  using Clock = std::chrono::steady_clock;

  /// What the steps of the run, or of an epoch, took.
  struct Times {
    Clock::duration training{}, communication{}, data{};

    double communication_share() const { return share(communication); }
    double data_share() const { return share(data); }

   private:
    double share(Clock::duration part) const {
      return training > Clock::duration{}
                 ? static_cast<double>(part.count()) / static_cast<double>(training.count())
                 : 0;
    }
  };

  CheckpointFolder checkpoints;
  std::int64_t step = 0;  ///< steps done
  Clock::time_point start = Clock::now(), epoch_start = start;
  Times run, epoch;
  Scores epoch_sums;  ///< scores of the epoch's steps, each times its samples
  LossHistory losses;
  StepReport report;                 ///< of the step just done
  std::optional<Scores> evaluation;  ///< after the step just done
  bool best = false;                 ///< that evaluation is the best one so far
  RunResult result;

  /// Counts the step that `report.scores` are of.
  void end_step(const Times& times);
  EpochReport epoch_report() const;
  void begin_epoch();
  /// The result, once the last step is done.
  void end();
};

}  // namespace trainer
