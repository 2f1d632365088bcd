#pragma once

#include "models/training/optimizer_shard.h"
#include "models/training/shard_norms.h"

namespace trainer {

/// Finds the norms of whole parameters and of their directions, from the shards of all ranks. The bits do not
/// depend on the partition.
class ParameterNorms {
 public:
  explicit ParameterNorms(std::size_t parameters) : parameters_(parameters), norms_(2 * parameters) {}

  /// Sets the norms of the segments of `shard`. Collective over the data ranks, through `scalars`, and over
  /// `model`.
  void find(OptimizerShard& shard, AllReduce& scalars, Communicator& model);

 private:
  std::size_t parameters_;
  ShardNorms norms_;  ///< of each parameter's values, then of each one's directions
};

}  // namespace trainer
