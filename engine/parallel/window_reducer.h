#pragma once

#include "engine/parallel/backward_progress.h"
#include "engine/parallel/gradient_reducer.h"

namespace trainer {

/// Sums gradients where they lie, for ranks that all share one window: each rank sums its slice of every
/// bucket along the tree over all workers, without an MPI call. One worker alone has nothing to sum.
class WindowReducer final : public GradientReducer {
 public:
  WindowReducer(ThreadPool& pool, ParameterWindow& window);

  void begin() override;
  std::int64_t position(int worker) const override { return progress_.position(worker); }
  void ready(int worker, std::int64_t offset) override;
  void finish() override;
  void start_publish() override;
  void receive() override {}
  void acquire(int, std::span<const Range>) override {}
  std::chrono::nanoseconds take_waiting_time() override { return {}; }
  std::vector<Range> overwritten() const override;

 private:
  bool sums() const { return memory_.tree().inputs() > 1; }
  /// As between nodes, the sum of the node is rounded; in exact mode the tree rounds.
  bool rounds() const { return memory_.compression().is_bf16() && !memory_.virtual_workers().exact; }
  void sum_finished(ThreadPool* pool);

  ThreadPool& pool_;
  ParameterWindow& memory_;
  BackwardProgress progress_;
  int summed_ = 0;  ///< buckets
};

}  // namespace trainer
