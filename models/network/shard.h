#pragma once

#include <span>

#include "models/layers/parameter.h"

namespace trainer {

/// Copies this rank's shard of a whole parameter; all of it when it is not cut.
void take_shard(const Parameter& parameter, std::span<const float> whole, std::span<float> part);

/// Copies a shard to its place in the whole parameter, whose other elements stay.
void place_shard(const Parameter& parameter, std::span<const float> part, std::span<float> whole);

/// Elements of a shard that are contiguous in the whole parameter, too.
struct ShardRun {
  std::int64_t whole = 0;  ///< index of the first one in the whole parameter
  std::int64_t count = 0;
};
/// The longest such run that begins at `position` of the shard; all that follows when it is not cut.
ShardRun run_at(const Parameter& parameter, std::int64_t position);

}  // namespace trainer
