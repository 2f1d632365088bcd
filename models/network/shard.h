#pragma once

#include <span>

#include "models/layers/parameter.h"

namespace trainer {

/// Copies this rank's shard of a whole parameter; all of it when it is not cut.
void take_shard(const Parameter& parameter, std::span<const float> whole, std::span<float> part);

/// Copies a shard to its place in the whole parameter, whose other elements stay.
void place_shard(const Parameter& parameter, std::span<const float> part, std::span<float> whole);

}  // namespace trainer
