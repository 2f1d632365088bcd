#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "datasets/loading/row_loader.h"
#include "engine/parallel/all_reduce.h"
#include "engine/parallel/gradient_reducer.h"
#include "models/guards/crosscheck.h"
#include "models/guards/replica_guard.h"
#include "models/optimizers/optimizer.h"
#include "models/training/batch.h"
#include "models/training/batch_statistics.h"
#include "models/training/observer.h"
#include "models/training/optimizer_shard.h"
#include "models/training/parameter_norms.h"
#include "models/training/session.h"

namespace trainer {

/// What a step of training is made of: the gradient of a batch summed over all ranks, the update of the
/// parameters that this rank owns, and the guards over both. A step: compute_gradients, agree, update. Every
/// rank has one and all make the same calls; steps are counted from 0.
class TrainingStep {
 public:
  struct Options {
    ParameterWindow::Options reducer;
    BatchOrder::Options order;  ///< of the parts in which batches are computed
    std::int64_t steps_per_epoch = 1, total_steps = 0;
  };
  /// Collective. The session's network reads reducer().values() from now on.
  TrainingStep(const Config& root, Session& session, const Options& options);
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;

  /// What owned() keeps for each parameter: the optimizer's states, and its value where the weights are a
  /// mean.
  std::vector<std::string> state_names() const;
  /// Call when values, states and `step` are what training begins with.
  void begin_guards(std::int64_t step);

  /// Forward and backward of a batch, part by part, and the sum over all ranks.
  void compute_gradients(std::int64_t step, std::span<const std::int64_t> samples);
  /// What each rank says at a step, and then whether any did.
  struct Votes {
    bool not_finite = false;  ///< agree() finds out
    bool stop = false, save = false, writing = false;
  };
  /// Puts loss and metrics of a batch of so many samples into `scores`, the same on all ranks. Collective.
  Votes agree(const Votes& mine, std::int64_t samples, Scores& scores);
  /// Clips the gradient, lets the optimizer change this rank's parameters, and shows them to all ranks.
  void update(std::int64_t step, double rate, std::optional<double> momentum);
  /// The first of this rank's parameters, optimizer states and layer states that has a number which is not
  /// finite; empty: there is none.
  std::string not_finite();
  /// When the step began, and what it took.
  std::chrono::steady_clock::time_point begun() const { return begun_; }
  const StepTimes& times() const { return times_; }

  /// Where the weights are to be a running mean: puts that in their place, or them back. Collective.
  void swap_average(std::int64_t step);

  Optimizer& optimizer() const { return *optimizer_; }
  ParameterWindow& window() { return window_; }
  const ParameterWindow& window() const { return window_; }
  GradientReducer& reducer() { return *reducer_; }
  AllReduce& scalars() { return scalars_; }
  OptimizerShard& owned() { return owned_; }
  BatchRunner& batch() { return batch_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool clips() const { return session_.settings().clip_norm.has_value(); }
  /// The number of a step's first part, counted over all steps.
  std::int64_t first_part(std::int64_t step) const;
  void compute_part(const BatchRunner::Part& part, bool crosschecks);
  void clip_gradient();

  Session& session_;
  std::unique_ptr<Optimizer> optimizer_;
  std::int64_t steps_per_epoch_, parts_per_epoch_;
  ParameterWindow window_;
  std::unique_ptr<GradientReducer> reducer_;
  AllReduce scalars_;
  BatchStatistics team_;
  BatchRunner batch_;
  RowLoader rows_;
  OptimizerShard owned_;
  std::optional<Crosscheck> crosscheck_;  ///< where it is asked for
  std::optional<ParameterNorms> norms_;   ///< for an optimizer that wants them
  std::optional<ReplicaGuard> replicas_;  ///< from begin_guards() on
  std::vector<double> sums_;
  double largest_ = 0;  ///< OptimizerShard::largest_gradient() on this model rank's data ranks
  Clock::time_point begun_, agreed_;
  StepTimes times_;
};

}  // namespace trainer
