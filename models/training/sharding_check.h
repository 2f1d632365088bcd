#pragma once

#include "engine/parallel/sharding.h"
#include "models/training/settings.h"

namespace trainer {

/// Error(ranks) if these settings, or model ranks, exclude `--shard gradients` or `--shard parameters`.
void check_sharding(const Config& train, const TrainSettings& settings, Sharding sharding, int model_ranks);

}  // namespace trainer
