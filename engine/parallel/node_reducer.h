#pragma once

#include <optional>
#include <utility>

#include "engine/parallel/backward_progress.h"
#include "engine/parallel/bfloat16_wire.h"
#include "engine/parallel/gradient_reducer.h"
#include "engine/parallel/window_parts.h"

namespace trainer {

/// What reducers between nodes share: a bucket is summed in the window of the node as soon as all its workers
/// have finished it, and an exchange between the ranks of the lane begins at once. The main thread starts and
/// completes exchanges; between hosts they move in the background (MpiProgress). Sharded gradients give their
/// memory back bucket by bucket; workers then wait rather than be more than one bucket ahead.
class NodeReducer : public GradientReducer {
 public:
  NodeReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window);

  void begin() final;
  std::int64_t position(int worker) const final { return progress_.position(worker); }
  void ready(int worker, std::int64_t offset) final;
  void finish() final;
  void start_publish() final;
  void start_publish_update() final;
  void updated(std::int64_t end) final;
  bool has_parts() const final { return true; }
  void receive() final;
  void acquire(int worker, std::span<const Range> parameters) final;
  std::vector<Exchange> exchanges() const final { return times_; }
  std::chrono::nanoseconds take_waiting_time() final { return std::exchange(waiting_time_, {}); }

 protected:
  /// Sums the `part`th of `parts` parts of the lane's slice of a bucket over the node; several threads call.
  /// By default the sums replace the gradients of the first worker.
  virtual void sum_in_node(int bucket, int part, int parts);
  /// Starts to exchange the sums of a bucket with the other ranks of the lane.
  virtual std::unique_ptr<Request> start_exchange(int bucket) = 0;
  /// Before sum_in_node() of a bucket, and when its sums are complete.
  virtual void open(int) {}
  virtual void close(int) {}
  /// Once the exchanges of these buckets are complete; `pool`: null while its workers compute.
  virtual void sum_received(int /*first*/, int /*last*/, ThreadPool*) {}

  const ShardPlan& plan() const { return memory_.plan(); }
  /// Between the ranks of the lane; null without bf16.
  Bfloat16Wire* wire() { return wire_ ? &*wire_ : nullptr; }

  ThreadPool& pool_;
  ParameterWindow& memory_;

 private:
  /// True if the exchange of a bucket is complete.
  bool test(std::size_t bucket);
  /// Sums finished buckets and moves exchanges.
  void poll(ThreadPool* pool);
  /// Of sharded gradients: ends the exchanges of the next buckets that are complete.
  void complete_buckets(ThreadPool* pool);
  /// Waits until the worker is one bucket ahead at most.
  void keep_pace(int worker);
  void receive_next();
  void begin_arrivals();
  /// Starts the exchanges that bring the parameters of all buckets here that have not begun.
  void start_arrivals(bool of_changes);
  void start_arrival(bool of_changes);
  /// The bucket of the next exchange; negative if all have begun. What forward reads first is sent first.
  int next_arrival() const { return static_cast<int>(plan().buckets().size() - arrivals_.size()) - 1; }
  std::span<float> values(const Range& range);

  Heartbeat& heartbeat_;
  std::optional<Bfloat16Wire> wire_;
  BackwardProgress progress_;
  int summed_ = 0;                                   ///< buckets
  SharedCounter completed_{};                        ///< buckets of sharded gradients
  std::vector<std::unique_ptr<Request>> exchanges_;  ///< one for each bucket
  std::vector<Exchange> times_;                      ///< of each of them
  std::vector<std::unique_ptr<Request>> arrivals_;   ///< of parameters, from the last bucket to the first
  bool is_publishing_ = false;                       ///< some of them have begun
  std::size_t received_ = 0;                         ///< of them
  SharedCounter arrived_{};                          ///< the end of the parameters that are here
  std::chrono::nanoseconds waiting_time_{};
};

}  // namespace trainer
