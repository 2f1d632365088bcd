#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/parallel/gradient_reducer.h"

namespace trainer {

/// Sharded parameters (ZeRO stage 3, Rajbhandari et al. 2020): between steps each rank has its shard. A
/// bucket is gathered from all ranks before the first of its layers reads it, while the layer before
/// computes, and its memory given back once a layer of another bucket begins; backward gathers it again.
/// Gradients are reduced by another reducer.
///
/// Worker 0 gathers. All workers of all ranks acquire and release in the same order, so each of them knows
/// without a message which gathering of a bucket it reads, and all ranks gather in the same order.
class ParameterGathering final : public GradientReducer {
 public:
  /// Each rank is a node of its own. Collective.
  ParameterGathering(std::unique_ptr<GradientReducer> gradients, Mesh& mesh, ThreadPool& pool,
                     ParameterWindow& window);

  void begin() override { gradients_->begin(); }
  std::int64_t position(int worker) const override { return gradients_->position(worker); }
  void ready(int worker, std::int64_t offset) override { gradients_->ready(worker, offset); }
  void finish() override;
  void start_publish() override { drop_all(); }
  void receive() override {}
  void acquire(int worker, std::span<const Range> parameters) override;
  void release(int worker, std::span<const Range> parameters) override;
  std::chrono::nanoseconds take_waiting_time() override;
  std::vector<Range> overwritten() const override { return gradients_->overwritten(); }

 private:
  struct Bucket {
    SharedCounter arrived{};           ///< gatherings that are complete
    std::atomic<std::int64_t> left{};  ///< of gatherings, by all workers together
    std::unique_ptr<Request> arrival;  ///< of worker 0
  };
  /// What a worker knows of a bucket.
  struct Use {
    std::int64_t gathered = 0;  ///< how often
    int layers = 0;             ///< that have it acquired
    bool is_here = false;
  };
  /// Written by its own thread only.
  struct alignas(64) Worker {
    std::vector<Use> uses;  ///< by bucket
    std::vector<int> here;  ///< buckets
    int last = -1;          ///< the bucket that was acquired last
  };

  /// The buckets in which these parameters lie; ascending.
  std::vector<int> buckets_of(std::span<const Range> parameters) const;
  void gather(int worker, int bucket);
  void wait_for(int worker, int bucket);
  /// Forgets the buckets that no layer of the worker has acquired, but for `needed`.
  void drop_unused(int worker, std::span<const int> needed);
  void drop(int worker, int bucket);
  void drop_all();
  std::int64_t workers() const { return std::ssize(workers_); }
  const ShardPlan& plan() const { return memory_.plan(); }

  std::unique_ptr<GradientReducer> gradients_;
  ThreadPool& pool_;
  ParameterWindow& memory_;
  /// Of its own: gradients of a bucket may begin at another moment on another rank.
  std::unique_ptr<Communicator> ranks_;
  Heartbeat& heartbeat_;
  std::vector<Bucket> buckets_;
  std::vector<Worker> workers_;
  std::vector<int> dropped_;  ///< by worker 0, and perhaps not yet by all
  std::chrono::nanoseconds waiting_time_{};
};

}  // namespace trainer
