#pragma once

#include "models/optimizers/optimizer.h"

namespace trainer {

/// The update of the global parameters after a round of `train.local`. Its gradient is the global parameters
/// minus the mean of those of the virtual workers (DiLoCo, arXiv:2311.08105, algorithm 1). Its rate is its
/// own: neither schedules nor factors of layers change it, which the steps of the round already obey.
class OuterOptimizer : public Optimizer {
 public:
  static constexpr const char* kFamily = "outer-optimizer";
};

}  // namespace trainer
