#pragma once

#include "engine/parallel/backward_progress.h"
#include "engine/parallel/gradient_reducer.h"

namespace trainer {

/// What reducers between nodes share: a bucket is summed in the window of the node as soon as all its workers
/// have finished it, and an exchange between the ranks of the lane begins at once. MPI moves exchanges only
/// inside its calls, which the main thread alone makes.
class NodeReducer : public GradientReducer {
 public:
  NodeReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window);

  void begin() final;
  std::int64_t position(int worker) const final { return progress_.position(worker); }
  void ready(int worker, std::int64_t offset) final;
  void finish() final;
  void publish() final;

 protected:
  /// Sums the `part`th of `parts` parts of the lane's slice of a bucket over the node; several threads call.
  virtual void sum_in_node(int bucket, int part, int parts) = 0;
  /// Starts to exchange the sums of a bucket with the other ranks of the lane.
  virtual std::unique_ptr<Request> start_exchange(int bucket) = 0;
  /// Once all exchanges are complete.
  virtual void sum_received() {}

  const ShardPlan& plan() const { return memory_.plan(); }

  ThreadPool& pool_;
  ParameterWindow& memory_;

 private:
  /// Sums finished buckets and moves exchanges.
  void poll(ThreadPool* pool);
  void wait_for_exchanges(const char* what);

  Heartbeat& heartbeat_;
  BackwardProgress progress_;
  int summed_ = 0;                                   ///< buckets
  std::vector<std::unique_ptr<Request>> exchanges_;  ///< one for each bucket
};

}  // namespace trainer
