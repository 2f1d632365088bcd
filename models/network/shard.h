#pragma once

#include <span>

#include "models/network/plan.h"

namespace trainer {

/// Copies the part of a whole parameter that this rank holds; all of it when it is not cut.
void take_shard(const Parameter& parameter, std::span<const float> whole, std::span<float> part);

/// Copies a part to its place in the whole parameter, whose other numbers stay.
void place_shard(const Parameter& parameter, std::span<const float> part, std::span<float> whole);

}  // namespace trainer
