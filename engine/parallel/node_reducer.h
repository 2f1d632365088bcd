#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "engine/parallel/backward_progress.h"
#include "engine/parallel/bfloat16_wire.h"
#include "engine/parallel/gradient_reducer.h"
#include "engine/parallel/window_parts.h"

namespace trainer {

/// What reducers between nodes share: a bucket is summed in the window of the node as soon as all its workers
/// have finished it, and an exchange between the ranks of the lane begins at once. The main thread starts and
/// completes exchanges; between hosts they move in the background (MpiProgress).
class NodeReducer : public GradientReducer {
 public:
  NodeReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window);

  void begin() final;
  std::int64_t position(int worker) const final { return progress_.position(worker); }
  void ready(int worker, std::int64_t offset) final;
  void finish() final;
  void start_publish() final;
  void start_publish_update() final;
  void receive() final;
  void wait_for(int worker, std::int64_t end) final;
  std::chrono::nanoseconds take_waiting_time() final { return std::exchange(waiting_time_, {}); }

 protected:
  /// Sums the `part`th of `parts` parts of the lane's slice of a bucket over the node; several threads call.
  virtual void sum_in_node(int bucket, int part, int parts) = 0;
  /// Starts to exchange the sums of a bucket with the other ranks of the lane.
  virtual std::unique_ptr<Request> start_exchange(int bucket) = 0;
  /// Once all exchanges are complete.
  virtual void sum_received() {}

  const ShardPlan& plan() const { return memory_.plan(); }
  /// Between the ranks of the lane; null without bf16.
  Bfloat16Wire* wire() { return wire_ ? &*wire_ : nullptr; }

  ThreadPool& pool_;
  ParameterWindow& memory_;

 private:
  /// Sums finished buckets and moves exchanges.
  void poll(ThreadPool* pool);
  void receive_next();
  /// `start(bucket)` starts an exchange that brings the bucket's parameters here.
  void start_arrivals(const std::function<std::unique_ptr<Request>(int)>& start);
  std::span<float> values(const Range& range);

  Heartbeat& heartbeat_;
  std::optional<Bfloat16Wire> wire_;
  BackwardProgress progress_;
  int summed_ = 0;                                   ///< buckets
  std::vector<std::unique_ptr<Request>> exchanges_;  ///< one for each bucket
  std::vector<std::unique_ptr<Request>> arrivals_;   ///< of parameters, from the last bucket to the first
  std::size_t received_ = 0;                         ///< of them
  SharedCounter arrived_{};                          ///< the end of the parameters that are here
  std::chrono::nanoseconds waiting_time_{};
};

}  // namespace trainer
