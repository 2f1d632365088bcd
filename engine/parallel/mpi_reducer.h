#pragma once

#include "engine/parallel/node_reducer.h"

namespace trainer {

/// Adds the sums of the nodes in the order of the ranks; with bf16, the rounded sums.
class MpiReducer final : public NodeReducer {
 public:
  using NodeReducer::NodeReducer;
  std::vector<Range> overwritten() const override;

 private:
  std::unique_ptr<Request> start_exchange(int bucket) override;
};

}  // namespace trainer
