#pragma once

#include "engine/config/config.h"
#include "engine/system/thread_pool.h"

namespace trainer {

/// Chooses the kernels of a run and what its threads do with subnormal values: `portable`, the same bits on
/// every processor, as IEEE 754 has them. Error(usage) at train.exact.portable where that cannot be. Call
/// before layers are made, outside of pool.run().
void choose_arithmetic(const Config& train, bool portable, ThreadPool& pool);

}  // namespace trainer
