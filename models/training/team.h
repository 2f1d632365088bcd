#pragma once

#include <span>

#include "engine/parallel/node_sum.h"
#include "models/network/pass.h"

namespace trainer {

/// The workers of all data ranks, who add up what concerns the whole batch (batch normalisation).
class Team final : public BatchSum {
 public:
  /// Collective.
  Team(Mesh& mesh, ThreadPool& pool, bool share) : sum_(mesh, pool, share) {}
  void sum(int worker, std::span<double> values) override { sum_.sum(worker, values); }

 private:
  NodeSum sum_;
};

}  // namespace trainer
