#pragma once

#include <chrono>
#include <span>

#include "engine/parallel/scalar_reducer.h"
#include "models/network/statistics_reducer.h"

namespace trainer {

/// All-reduce of statistics over the workers of all data ranks (batch normalisation).
class BatchStatistics final : public StatisticsReducer {
 public:
  /// Collective.
  BatchStatistics(Mesh& mesh, ThreadPool& pool, bool share, const VirtualWorkers& virtual_workers)
      : sum_(mesh, pool, share, virtual_workers) {}
  void sum(int worker, std::span<const double> lines, std::span<double> total) override {
    sum_.sum(worker, lines, total);
  }
  std::chrono::nanoseconds take_time() { return sum_.take_time(); }

 private:
  ScalarReducer sum_;
};

}  // namespace trainer
