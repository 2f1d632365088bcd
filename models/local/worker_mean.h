#pragma once

#include <span>
#include <vector>

#include "engine/core/memory_ledger.h"
#include "engine/core/sum_tree.h"
#include "engine/core/virtual_workers.h"
#include "engine/parallel/communicator.h"

namespace trainer {

/// The mean of an array of each virtual worker. Sums follow one tree over the virtual workers, so all bits
/// are the same for every placement. Each rank adds a part of the elements for all others.
class WorkerMean {
 public:
  /// `data`: the ranks that host `workers`; outlives this object.
  WorkerMean(Communicator& data, const VirtualWorkers& workers);

  /// `arrays`: of this rank's virtual workers, each as large as `mean`. Collective.
  void compute(const std::vector<const float*>& arrays, std::span<float> mean);
  /// Floats that a rank keeps for messages after arrays of `values` floats: the most of any rank.
  std::int64_t message_floats(std::int64_t values) const;

 private:
  using Message = std::vector<float, CountedAllocator<float, MemoryKind::messages>>;

  Communicator& data_;
  int workers_;                        ///< of all ranks
  SumTree own_;                        ///< over the virtual workers of this rank
  std::vector<Range> nodes_;           ///< the roots of all ranks' trees, rank by rank
  std::vector<std::int64_t> of_rank_;  ///< how many of them each rank has
  Message out_, in_;
};

}  // namespace trainer
