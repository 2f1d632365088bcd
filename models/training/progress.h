#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/sha256.h"
#include "models/training/loss_history.h"
#include "models/training/observer.h"

namespace trainer {

/// The progress of a run. Steps allocate no memory.
struct Progress {
  using Clock = std::chrono::steady_clock;

  std::int64_t steps_per_epoch = 1, total_steps = 0;
  std::int64_t log_every = 1;   ///< steps
  int ranks = 1;                ///< of the run
  int model_ranks = 1;          ///< of a model group
  int slowest = -1;             ///< Waiting::slowest()
  std::int64_t round = 1;       ///< steps between two calls of hooks: of a round of train.local
  std::int64_t first_step = 0;  ///< steps done before this process
  std::int64_t step = 0;        ///< steps done
  bool is_pending = false;  ///< the run begins with evaluation, end of epoch or checkpoint of its last step
  Clock::time_point start = Clock::now(), epoch_start = start, step_start = start;
  StepTimes run, epoch;
  StalenessSum epoch_staleness;  ///< with train.async
  Scores epoch_sums;  ///< losses of the epoch's steps, each times its labels; labels, then the metrics' sums
  LossHistory losses;
  StepReport report;                 ///< of the step under way, or the last one
  std::optional<Scores> evaluation;  ///< after the last step
  bool best = false;                 ///< that evaluation is the best one so far
  std::int64_t best_step = 0;
  RunResult result;
  std::optional<Sha256Digest> chain;  ///< of train.chain: after `step` before a checkpoint and at the end
  Clock::duration longest_step{}, longest_save{};  ///< 0: never measured

  bool is_done() const { return step >= total_steps || result.stopped; }
  bool ends_epoch() const { return step > 0 && (step % steps_per_epoch == 0 || step == total_steps); }
  /// Where the round after the last step ends: rounds begin anew with each epoch.
  std::int64_t round_end() const;
  /// The steps of the round that ends after `done` steps, at least 1.
  std::int64_t round_steps(std::int64_t done) const;
  /// An upper estimate of the time to end the step under way and to save.
  Clock::duration time_to_stop() const;

  /// Starts the report of the next step, or of the steps up to `end`; its times are to be filled.
  StepTimes& begin_step(double rate) { return begin_steps(step + 1, rate); }
  StepTimes& begin_steps(std::int64_t end, double rate);
  /// The loss of the step or round under way, and whether the run stops after it.
  void note(double loss, bool stops);
  /// Counts the step or round of `report.scores` and `report.times`; `metric_sums`: of BatchRunner.
  void end_step(std::span<const double> metric_sums);
  /// An evaluation after the last step, scored by these metrics.
  void see(const Scores& scores, const std::vector<MetricFacts>& metrics);
  /// The report of the epoch, without its metric values.
  EpochReport epoch_report() const;
  void begin_epoch();
  /// Fills the result, once the last step is done.
  void end();
  /// Fills the report's shares of the epoch's time.
  void report_shares();
  /// The rank to name if waiting takes this share of the time; -1: none.
  int slow_rank(double wait_share) const;
  /// The share of communication without waiting; 0 in one process, which only adds up its threads' gradients.
  double comm_share(const StepTimes& times) const;
};

}  // namespace trainer
