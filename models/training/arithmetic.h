#pragma once

#include "engine/config/config.h"
#include "engine/math/precision.h"
#include "engine/system/thread_pool.h"

namespace trainer {

/// What a run computes with.
struct Arithmetic {
  bool portable = false;  ///< the same bits on every processor
  Precision precision = Precision::float32;
};

/// Chooses the kernels of a run and what its threads do with subnormal values: in a portable run they stay as
/// IEEE 754 has them. Error(usage) at train.exact.portable or train.precision where that cannot be. Call
/// before layers are made, outside of pool.run().
void choose_arithmetic(const Config& train, const Arithmetic& arithmetic, ThreadPool& pool);

}  // namespace trainer
