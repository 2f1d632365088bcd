#pragma once

#include "engine/parallel/all_reduce.h"
#include "models/training/hook.h"
#include "models/training/optimizer_shard.h"
#include "models/training/settings.h"

namespace trainer {

/// Clips the reduced gradient before each update: first its elements (`clip_value`), then its norm over all
/// parameters (`clip_norm`).
class Clipping final : public Hook {
 public:
  Clipping(const TrainSettings& settings, OptimizerShard& shard, AllReduce& scalars, Communicator& model)
      : settings_(settings), shard_(shard), scalars_(scalars), model_(model) {}

  void before_update(std::int64_t step, const Signals& all) override;

 private:
  /// `largest`: the bits of the largest magnitude on the data ranks of this model rank. Collective.
  void clip_norm(double largest);

  const TrainSettings& settings_;
  OptimizerShard& shard_;
  AllReduce& scalars_;
  Communicator& model_;
};

}  // namespace trainer
