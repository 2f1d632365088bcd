#pragma once

#include "engine/parallel/all_reduce.h"
#include "engine/parallel/gradient_reducer.h"
#include "models/training/hook.h"
#include "models/training/optimizer_shard.h"

namespace trainer {

/// The exponential moving average of the weights (`train.ema`). The optimizer shard updates it in each step;
/// this class swaps it with the weights for evaluations and checkpoints.
class Ema {
 public:
  Ema(bool is_on, OptimizerShard& shard, AllReduce& scalars, GradientReducer& reducer)
      : is_on_(is_on), shard_(shard), scalars_(scalars), reducer_(reducer) {}

  bool is_on() const { return is_on_; }
  /// At the start of training, sets the EMA to the weights.
  void begin();
  /// Swaps weights and EMA after loading a checkpoint, which stores the EMA as the weights. `done`: steps
  /// done.
  void restore(std::int64_t done);
  /// Calls work() with the EMA in place of the weights. Collective.
  template <class Work>
  void with_ema(std::int64_t done, Hook& hooks, const Work& work) {
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
