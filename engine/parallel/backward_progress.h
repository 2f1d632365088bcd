#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/parallel/parameter_window.h"

namespace trainer {

/// How far backward is: by worker of this rank, and bucket by bucket on the whole node.
class BackwardProgress {
 public:
  BackwardProgress(ParameterWindow& window, int workers);

  void begin();
  /// The worker's gradients from here on are final.
  std::int64_t position(int worker) const { return workers_[static_cast<std::size_t>(worker)].position; }
  /// Buckets that the worker has finished.
  int buckets(int worker) const { return workers_[static_cast<std::size_t>(worker)].buckets; }
  /// Called by the worker's thread. logic_error unless offsets fall.
  void advance(int worker, std::int64_t offset);

  /// Buckets that every worker of the node has finished; does not wait.
  int finished_buckets();
  /// Waits until every worker of the node has finished the bucket.
  void wait_for(int bucket) const;
  /// logic_error if a worker of this rank has not finished backward.
  void check_end() const;

 private:
  /// Written by its own thread only.
  struct alignas(64) Worker {
    std::int64_t position = 0;
    int buckets = 0;
  };
  /// Counts buckets over all backward passes.
  std::int64_t number_of(int bucket) const {
    return pass_ * static_cast<std::int64_t>(buckets_.size()) + bucket + 1;
  }

  NodeWindow& window_;
  std::span<const Range> buckets_;
  std::vector<Worker> workers_;
  std::int64_t pass_ = -1;
  int finished_ = 0;
};

}  // namespace trainer
