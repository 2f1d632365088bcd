#pragma once

#include "engine/parallel/all_reduce.h"
#include "engine/parallel/gradient_reducer.h"
#include "models/training/hook.h"
#include "models/training/optimizer_shard.h"

namespace trainer {

/// The exponential moving average of the weights (`train.ema`), which each update of the optimizer shard
/// renews: puts it in place of the weights while they are evaluated or saved.
class Ema {
 public:
  Ema(bool is_on, OptimizerShard& shard, AllReduce& scalars, GradientReducer& reducer)
      : is_on_(is_on), shard_(shard), scalars_(scalars), reducer_(reducer) {}

  bool is_on() const { return is_on_; }
  /// Where training begins, the weights are their average.
  void begin();
  /// Exchanges weights and average where a checkpoint has them exchanged. Before the first publish().
  void restore(std::int64_t done);
  /// work() with the average in place of the weights. `hooks` watch what is published. Collective.
  template <class Work>
  void with_average(std::int64_t done, Hook& hooks, const Work& work) {
    swap(done, hooks);
    work();
    swap(done, hooks);
  }

 private:
  void swap(std::int64_t done, Hook& hooks);

  bool is_on_;
  OptimizerShard& shard_;
  AllReduce& scalars_;
  GradientReducer& reducer_;
};

}  // namespace trainer
