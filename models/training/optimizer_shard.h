#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "engine/core/arena.h"
#include "engine/math/square_sum.h"
#include "engine/parallel/parameter_windows.h"
#include "engine/system/thread_pool.h"
#include "models/network/network_plan.h"
#include "models/optimizers/optimizer.h"
#include "models/training/memory_guard.h"

namespace trainer {

/// The parameters that this rank updates and their optimizer states (ZeRO stage 1, Rajbhandari et al. 2020).
/// The rank's workers share the work on a large shard.
class OptimizerShard {
 public:
  struct Options {
    std::size_t states = 0;  ///< of the optimizer; the EMA of the values follows them
    float initial = 0;       ///< value of the optimizer's states before the first step
    /// True on one of the ranks that update the same parameters: see add_squares().
    bool counts_shared = true;
    float ema = 0;                 ///< decay of the exponential moving average; 0: none
    bool keeps_gradients = false;  ///< for keep_gradients()
    bool rounds_changes = false;   ///< an update changes parameters by values of bfloat16: see update()
    /// An optimizer that requires matrices, for its scratch memory: each segment is a whole parameter. Null:
    /// it requires none.
    const Optimizer* matrices = nullptr;
  };
  OptimizerShard(const NetworkPlan& plan, ParameterWindows& windows, ThreadPool& pool,
                 const Options& options);

  // From GradientReducer::finish() until the update:
  /// The bits of the largest magnitude of a gradient of a parameter that learns (engine/math/square_sum.h);
  /// those of infinity or NaN if any gradient, of a frozen parameter too, is not finite.
  std::uint32_t largest_gradient();
  /// Adds the squares of the gradients. Parameters that several ranks hold count on one of them, frozen ones
  /// not at all.
  void add_squares(SquareSum& sum) const;
  void scale_gradients(float factor);
  /// Clamps every gradient to [-limit, limit].
  void clamp_gradients(float limit);
  /// Adds the gradients of a micro-batch to those kept; `first`: replaces them.
  void keep_gradients(bool first);
  /// Adds the kept gradients to those of the last micro-batch.
  void add_kept_gradients();

  /// Fingerprints of this rank's part of a parameter, at the indices of the whole one.
  struct Fingerprints {
    std::uint64_t gradient = 0;  ///< as largest_gradient() saw it
    std::uint64_t values = 0;    ///< after the last update
  };
  /// Keeps fingerprints from now on, at little cost: of gradients where the finite check reads them, of
  /// values while they are in the L1 cache. Call when values are ready for training. `plan` outlives
  /// this.
  void keep_fingerprints(const NetworkPlan& plan);
  /// visit(parameter, fingerprints) of the segments; those that several ranks update on one of them.
  template <class Visit>
  void visit_fingerprints(Visit visit) const {
    for (std::size_t i = 0; i < segments_.size(); ++i)
      if (is_counted_[i]) visit(segments_[i].parameter, fingerprints_[i]);
  }

  /// Checks memory at every update from now on. Call when values and states are ready for training.
  void guard(MemoryGuard::Facts facts);
  /// Checks the memory of the whole shard now. Error(diverged) as MemoryGuard::check(); `step`: updates done.
  void verify(std::int64_t step);
  /// The first array with a value that is not finite: "dense1.weight", or "square of dense1.weight"; empty if
  /// there is none.
  std::string not_finite(std::span<const Parameter> parameters, std::span<const std::string> states);

  /// Updates values and states by the gradients, which must be finite, then the EMA. `rate`: the learning
  /// rate; `step`: updates done. Where it rounds changes, they are left in place of the gradients, for
  /// GradientReducer::start_publish_update(). Error(diverged) as MemoryGuard::check(). Worker 0 calls
  /// `updated` with how far in the flat buffer its part of the shard, the first one, is updated.
  void update(Optimizer& optimizer, float rate, std::int64_t step,
              const std::function<void(std::int64_t end)>& updated = {});
  /// Sets the EMA to the values.
  void begin_ema();
  /// Swaps the values and their EMA.
  void swap_ema(std::int64_t step);

  // Before update():
  void find_directions(Optimizer& optimizer, std::int64_t step);
  /// visit(parameter, values, directions) of the segments that add_squares() counts.
  template <class Visit>
  void visit_counted(Visit visit) const {
    for (std::size_t i = 0; i < segments_.size(); ++i)
      if (is_in_norms_[i]) visit(segments_[i].parameter, segments_[i].values, segments_[i].direction);
  }
  /// norms(parameter): the norms of its values and of its directions.
  template <class Norms>
  void set_norms(Norms norms) {
    for (Segment& segment : segments_)
      std::tie(segment.value_norm, segment.direction_norm) = norms(segment.parameter);
  }

  /// visit(offset, values) of this rank's shard of one optimizer state, in ascending order; each visit lies
  /// within one parameter.
  void visit_state(std::size_t state,
                   const std::function<void(std::int64_t, std::span<const float>)>& visit) const;
  /// Sets what lies in this rank's shard of one optimizer state, for the parameters from `offset` on.
  void set_state(std::size_t state, std::int64_t offset, std::span<const float> values);
  /// visit(offset, values) of this rank's shard of the parameters, as visit_state().
  void visit_values(const std::function<void(std::int64_t, std::span<const float>)>& visit) const;
  /// visit(offset, segment) of this rank's shard, as visit_state().
  template <class Visit>
  void visit_segments(Visit visit) const {
    for (std::size_t i = 0; i < segments_.size(); ++i) visit(offsets_[i], segments_[i]);
  }

 private:
  bool is_frozen(std::size_t segment) const { return segments_[segment].rate == 0; }
  /// work(first, last, worker) with each worker's range of segments; on this thread alone if the shard is
  /// small.
  template <class Work>
  void for_each_worker(Work work);
  /// The optimizer's step on a segment, and the rounding of its changes.
  void update_segment(Optimizer& optimizer, std::size_t index, float rate, std::int64_t step);
  void step_segment(Optimizer& optimizer, const Segment& segment, float rate, std::int64_t step) const;
  /// work(index, piece) for the pieces of a segment that the guard checks one by one.
  template <class Work>
  void for_each_piece(std::size_t segment, Work work) const;
  /// work(part) for the parts of a segment, whose arrays it changes; the guard checks each before and keeps
  /// it after.
  template <class Work>
  void guarded(std::size_t segment, MemoryGuard::Arrays arrays, std::int64_t step, Work work);
  /// The same for work on a whole segment.
  template <class Work>
  void guarded_whole(std::size_t segment, MemoryGuard::Arrays arrays, std::int64_t step, Work work);
  /// Gives the segments of hidden matrices their extents and their worker's scratch memory.
  void set_matrices(const NetworkPlan& plan, const Optimizer& optimizer);
  /// Returns the bits of the largest magnitude of a segment's gradients, and keeps their fingerprint.
  std::uint32_t magnitude_with_fingerprint(std::size_t segment);
  /// step_segment() on a part of a segment, in pieces whose fingerprint it adds.
  void step_with_fingerprint(Optimizer& optimizer, std::size_t index, const Segment& part, float rate,
                             std::int64_t step);
  /// work(values, index in the whole parameter) for the contiguous runs of values of a segment that begin
  /// with its element `first`.
  template <class Work>
  void for_each_run(std::size_t segment, std::size_t first, std::span<const float> values, Work work) const;
  /// Adds elements [first, last) of a segment to the fingerprint of its values.
  void add_values(std::size_t segment, std::size_t first, std::size_t last);
  /// Checks some of the pieces; in kFrozenTurns steps all of them.
  void check_frozen(std::size_t segment, std::int64_t step) const;

  ThreadPool& pool_;
  std::vector<std::span<float>> sums_;  ///< the gradients of each range of the shard
  Arena states_, kept_, scratch_;
  float keep_;  ///< decay of the EMA
  bool rounds_changes_;
  std::size_t optimizer_states_;
  std::vector<Segment> segments_;
  std::vector<std::size_t> first_segment_;  ///< of each worker, and behind the last
  std::vector<std::int64_t> offsets_;       ///< of each segment in the flat parameters
  /// By segment: true on one of the ranks that update it.
  std::vector<char> is_counted_;
  std::vector<char> is_in_norms_;           ///< by segment: it is counted, and learns
  std::vector<std::uint32_t> largest_;      ///< by worker
  const NetworkPlan* plan_ = nullptr;       ///< of keep_fingerprints()
  std::vector<Fingerprints> fingerprints_;  ///< by segment; empty: none are kept
  std::optional<MemoryGuard> guard_;
  std::vector<std::size_t> first_piece_;  ///< of each segment, for the guard
};

}  // namespace trainer
