#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/checkpoints/checkpoint_state.h"
#include "models/guards/divergence.h"
#include "models/training/observer.h"

namespace trainer {

/// Where a run stands, as its observers are told. Nothing is allocated from one step to the next.
struct Progress {
  using Clock = std::chrono::steady_clock;

  std::int64_t steps_per_epoch = 1;
  std::int64_t step = 0;  ///< steps done
  Clock::time_point start = Clock::now(), epoch_start = start;
  StepTimes run, epoch;
  Scores epoch_sums;  ///< losses of the epoch's steps, each times its labels; labels, then the metrics' sums
  LossHistory losses;
  StepReport report;                 ///< of the step just done
  std::optional<Scores> evaluation;  ///< after the step just done
  bool best = false;                 ///< that evaluation is the best one so far
  std::int64_t best_step = 0;
  RunResult result;
  Clock::time_point saved = start;  ///< when the last checkpoint was begun
  bool save_asked = false;          ///< minutes have passed since
  bool all_written = true;          ///< no rank is busy with it any more
  Clock::duration longest_step{};

  /// What it may take to end the step under way and to save; `longest_save`: 0 when it was never measured.
  Clock::duration time_to_stop(Clock::duration longest_save) const;

  /// Continues a run; `rate` is that of the last step.
  void go_on_from(const CheckpointState& state, double rate);
  /// All of it that a checkpoint keeps; `pending`: what follows the step is still to be done.
  CheckpointState state(bool pending) const;

  /// Counts the step that `report.scores` and `report.times` are of; `metric_sums`: as BatchRunner gives
  /// them.
  void end_step(std::span<const double> metric_sums);
  /// An evaluation after the step just done, scored by these metrics.
  void see(const Scores& scores, const std::vector<MetricFacts>& metrics);
  /// Without the values of metrics over the epoch.
  EpochReport epoch_report() const;
  void begin_epoch();
  /// The result, once the last step is done.
  void end();

 private:
  void report_shares();
};

}  // namespace trainer
