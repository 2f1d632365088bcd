#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "engine/core/arena.h"
#include "engine/math/square_sum.h"
#include "engine/parallel/gradient_reducer.h"
#include "engine/system/thread_pool.h"
#include "models/guards/memory_guard.h"
#include "models/network/plan.h"
#include "models/optimizers/optimizer.h"

namespace trainer {

/// The part of the parameters that this rank updates, with the optimizer's states for it. A large part is
/// shared out among the rank's workers.
class OptimizerShard {
 public:
  struct Options {
    std::size_t states = 0;  ///< of the optimizer; the mean of the values, if any, comes behind them
    float initial = 0;       ///< what those of the optimizer begin with
    /// Whether this rank is the one among those of its model that counts what all of them hold.
    bool counts_shared = true;
    float average = 0;             ///< of the mean of the values, what a step keeps; 0: there is none
    bool keeps_gradients = false;  ///< for keep_gradients()
  };
  OptimizerShard(const Plan& plan, GradientReducer& reducer, ThreadPool& pool, const Options& options);

  // After GradientReducer::finish():
  bool gradients_are_finite();
  /// The bits of the largest magnitude of a gradient: see engine/math/square_sum.h.
  std::uint32_t largest_gradient();
  /// Adds the squares of the gradients; parameters that several ranks of a model hold count once, frozen
  /// ones never.
  void add_squares(SquareSum& sum) const;
  void scale_gradients(float factor);
  void clamp_gradients(float limit);
  /// For a batch that is computed in parts: puts a part's gradients aside, the first ones in place of what
  /// lies there.
  void keep_gradients(bool first);
  /// Adds what was put aside to the last part's.
  void add_kept_gradients();
  /// From now on every update looks whether anything else has changed this part meanwhile. Call when values
  /// and states are what training begins with.
  void guard(MemoryGuard::Facts facts);
  /// Error(diverged) as MemoryGuard says, of the whole part; `step`: steps done.
  void verify(std::int64_t step);
  /// The first array with a number that is not finite: "dense1.weight", or by the name of one of its states
  /// "square of dense1.weight"; empty: there is none.
  std::string not_finite(std::span<const Parameter> parameters, std::span<const std::string> states);
  /// `looks`: at each gradient just before it is used, which spares gradients_are_finite(). At the first one
  /// that is not finite it stops, with a part of the parameters updated, and returns false.
  bool update(Optimizer& optimizer, float rate, std::int64_t step, bool looks = false);
  /// Where training begins the values are their mean.
  void begin_average();
  /// Exchanges the values for their mean, or back.
  void swap_average(std::int64_t step);

  // For an optimizer that wants norms, before update():
  void direct(Optimizer& optimizer, std::int64_t step);
  /// Visits what add_squares() counts: visit(parameter, values, directions).
  template <class Visit>
  void visit_counted(Visit visit) const {
    for (std::size_t i = 0; i < segments_.size(); ++i)
      if (counts_[i]) visit(segments_[i].parameter, segments_[i].values, segments_[i].direction);
  }
  /// norm(parameter): of its values and of its directions.
  template <class Norms>
  void set_norms(Norms norms) {
    for (Segment& segment : segments_)
      std::tie(segment.value_norm, segment.direction_norm) = norms(segment.parameter);
  }

  /// visit(offset, numbers) for one of the optimizer's states of this rank's part, piece by piece of one
  /// parameter each, ascending.
  void visit_state(std::size_t state,
                   const std::function<void(std::int64_t, std::span<const float>)>& visit) const;
  /// This rank's part of one of the optimizer's states, from all of it, flat like the parameters.
  void set_state(std::size_t state, std::span<const float> flat);

 private:
  void make_groups(const std::vector<std::size_t>& first_segment);
  bool is_frozen(std::size_t group) const { return groups_[group].front().rate == 0; }
  /// work(first, last, worker) with each worker's range of groups, or all on this one when the part is small.
  template <class Work>
  void share_out(Work work);
  /// work(segment) for each segment that is not frozen, by all workers, under the eyes of the guard.
  template <class Work>
  void change(std::int64_t step, Work work);
  /// The same for work(segments, worker) that tells what it reads and writes, with a group at a time until it
  /// returns false.
  template <class Work>
  void follow(std::int64_t step, Work work);
  /// Some of the frozen groups, others in the next step.
  void check_frozen(std::int64_t step);

  ThreadPool& pool_;
  GradientReducer& reducer_;
  Arena states_, kept_;
  float keep_;  ///< of the mean of the values
  bool has_frozen_ = false;
  std::vector<Segment> segments_;
  std::vector<std::span<Segment>> groups_;  ///< of one parameter each
  std::optional<MemoryGuard> guard_;
  std::vector<UpdateSums> told_;       ///< of a group, by worker, where there is a guard
  std::vector<std::int64_t> offsets_;  ///< of each segment in the flat buffer
  std::vector<char> counts_;           ///< by segment: whether add_squares() takes it
  std::vector<std::size_t>
      first_group_;           ///< of each worker, and behind the last; for one worker when the part is small
  std::vector<char> finite_;  ///< by worker; char, since workers write neighbouring elements at once
  std::vector<std::uint32_t> largest_;  ///< by worker
};

}  // namespace trainer
