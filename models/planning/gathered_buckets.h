#pragma once

#include <cstdint>

#include "engine/parallel/shard_plan.h"
#include "models/layers/sequence.h"

namespace trainer {

/// Of sharded parameters the most floats of other ranks that a rank has at a time, in forward and backward:
/// buckets of the layers that compute, and the next one (ParameterGathering).
std::int64_t gathered_floats(const Sequence& layers, const ShardPlan& shards);

}  // namespace trainer
