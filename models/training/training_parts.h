#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datasets/loading/row_loader.h"
#include "engine/parallel/all_reduce.h"
#include "engine/parallel/parameter_windows.h"
#include "models/optimizers/optimizer.h"
#include "models/schedules/schedule.h"
#include "models/training/batch.h"
#include "models/training/batch_statistics.h"
#include "models/training/consensus.h"
#include "models/training/early_stopping.h"
#include "models/training/ema.h"
#include "models/training/observer.h"
#include "models/training/optimizer_shard.h"
#include "models/training/outlier_updates.h"
#include "models/training/parameter_norms.h"
#include "models/training/session.h"

namespace trainer {

/// The objects of a training step, shared by the training loop and its hooks. In local SGD the run has one,
/// whose step is a round, and each thread another one for the steps of its virtual workers; in asynchronous
/// training another one computes gradients.
struct TrainingParts {
  /// Collective. From here on the session's network reads the parameters of `windows`.
  TrainingParts(const Config& root, Session& session, const ParameterWindow::Options& options);
  TrainingParts(const TrainingParts&) = delete;
  TrainingParts& operator=(const TrainingParts&) = delete;

  /// Gives the session's network its memory. `sums`: the all-reduce of statistics of layers that see all rows
  /// of a model group.
  void attach(StatisticsReducer& sums);
  /// The first micro-batch of a step, and the one after `last`; empty after the last.
  MicroBatch first_micro_batch(std::int64_t step);
  MicroBatch next_micro_batch(const MicroBatch& last) const;
  /// After reduction: keeps the gradients of a micro-batch, or after the last one adds the kept ones.
  void accumulate(const MicroBatch& batch);
  /// The learning rate of a step, after warm-up, schedule and rollbacks.
  double rate(std::int64_t step) const { return rate_factor * schedule->at(step); }
  /// Whether the gradients of a step travel compressed: those of the warm-up change most, and error feedback
  /// would bring what it has not sent of them to later steps.
  bool compresses(std::int64_t step) const { return step >= warmup_steps; }
  /// The optimizer's step on this rank's shard, which begins to leave for other hosts.
  void update(std::int64_t step, double rate);
  /// Of all sums of statistics since the last call: ScalarReducer::take_time().
  std::chrono::nanoseconds take_statistics_time();
  /// Names of what the optimizer shard keeps for each parameter, as checkpoints have them.
  std::vector<std::string> state_names() const;

  Session& session;
  bool updates_apart;  ///< an optimizer elsewhere takes the gradients: of a share in asynchronous training
  ThreadPool one_thread{1};  ///< of updates beside the workers: in asynchronous training
  BatchOrder order;
  RunFacts facts;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Schedule> schedule;
  std::int64_t warmup_steps;
  ParameterWindows windows;
  std::unique_ptr<GradientReducer> reducer;
  AllReduce scalars;
  BatchStatistics statistics;
  std::optional<BatchStatistics> split_statistics;  ///< of layers that split rows
  BatchRunner batch;
  std::int64_t micro_batches_per_epoch;
  RowLoader loader;
  OptimizerShard shard;
  std::optional<ParameterNorms> norms;  ///< for an optimizer that requires them
  Consensus consensus;
  Ema ema;
  EarlyStopping early_stopping;
  OutlierUpdates outliers;
  double rate_factor = 1;  ///< of rollbacks

 private:
  /// The number of a step's first micro-batch, counted over all steps.
  std::int64_t first_number(std::int64_t step) const;
};

/// How the rows of training are loaded, up to `end` micro-batches. The session outlives the result.
RowLoader::Options loader_options(const Config& data, const Session& session, bool oversubscribed,
                                  std::int64_t end);

}  // namespace trainer
