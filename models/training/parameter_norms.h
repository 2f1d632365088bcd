#pragma once

#include <cstdint>
#include <vector>

#include "engine/math/square_sum.h"
#include "engine/parallel/all_reduce.h"
#include "models/training/optimizer_shard.h"

namespace trainer {

/// Finds the norms of whole parameters and of their directions, from the shards of all ranks. The bits do not
/// depend on the partition.
class ParameterNorms {
 public:
  explicit ParameterNorms(std::size_t parameters);

  /// Sets the norms of the segments of `shard`. Collective over the data ranks, through `scalars`, and over
  /// `model`.
  void find(OptimizerShard& shard, AllReduce& scalars, Communicator& model);

 private:
  std::size_t parameters_;
  std::vector<double> largest_;  ///< of each parameter's values, then of each one's directions
  std::vector<SquareSum> squares_;
  std::vector<double> parts_;  ///< two for each of these sums
};

}  // namespace trainer
