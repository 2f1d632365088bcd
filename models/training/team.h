#pragma once

#include <span>

#include "engine/parallel/node_sum.h"
#include "models/network/pass.h"

namespace trainer {

/// The workers of all data ranks, who add up what concerns the whole batch (batch normalisation).
class Team final : public BatchSum {
 public:
  /// Collective.
  Team(Mesh& mesh, ThreadPool& pool, bool share, int exact_blocks) : sum_(mesh, pool, share, exact_blocks) {}
  void sum(int worker, std::span<const double> lines, std::span<double> total) override {
    sum_.sum(worker, lines, total);
  }

 private:
  NodeSum sum_;
};

}  // namespace trainer
