#pragma once

#include <span>
#include <vector>

#include "engine/core/thread_pool.h"
#include "engine/parallel/communicator.h"
#include "models/network/pass.h"

namespace trainer {

/// The workers of all data ranks, who add up what concerns the whole batch (batch normalisation).
class Team final : public BatchSum {
 public:
  Team(ThreadPool& pool, Communicator& data);
  void sum(int worker, std::span<double> values) override;

 private:
  ThreadPool& pool_;
  Communicator& data_;
  std::vector<std::span<double>> parts_;
  std::vector<double> total_;
};

}  // namespace trainer
