#pragma once

#include <span>

#include "engine/parallel/scalar_reducer.h"
#include "models/network/statistics_reducer.h"

namespace trainer {

/// The workers of all data ranks, who add up what concerns the whole batch (batch normalisation).
class BatchStatistics final : public StatisticsReducer {
 public:
  /// Collective.
  BatchStatistics(Mesh& mesh, ThreadPool& pool, bool share, int exact_blocks)
      : sum_(mesh, pool, share, exact_blocks) {}
  void sum(int worker, std::span<const double> lines, std::span<double> total) override {
    sum_.sum(worker, lines, total);
  }

 private:
  ScalarReducer sum_;
};

}  // namespace trainer
