#pragma once

#include "engine/parallel/all_reduce.h"
#include "models/training/optimizer_shard.h"

namespace trainer {

/// The norm of the reduced gradient of all parameters that learn, the same on all ranks; its bits do not
/// depend on the partition. `largest`: the bits of the largest magnitude on the data ranks of this model rank
/// (Signals::largest), or of one that no element exceeds. Collective.
double gradient_norm(const OptimizerShard& shard, AllReduce& scalars, Communicator& model, double largest);

}  // namespace trainer
