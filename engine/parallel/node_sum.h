#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/thread_pool.h"
#include "engine/parallel/mesh.h"
#include "engine/parallel/window_parts.h"

namespace trainer {

/// Sums a few doubles over the workers of all data ranks, while these compute. Workers of one node write into
/// slots that the node shares and each adds them up by itself, by rank and thread: one wait, no MPI call, and
/// the same bits everywhere, however the workers are cut into ranks and threads. Between nodes, the nodes'
/// sums are added by MPI.
class NodeSum {
 public:
  /// Collective. `share`: false: every rank is a node of its own, as when /dev/shm is too small.
  NodeSum(Mesh& mesh, ThreadPool& pool, bool share);

  /// Every worker of every data rank calls, from inside pool.run(), with as many values.
  void sum(int worker, std::span<double> values);

 private:
  /// Longer sums are taken in parts.
  static constexpr std::int64_t kSlot = 512;

  /// How many sums a worker has begun. Written by its own thread only.
  struct alignas(64) Worker {
    std::int64_t sums = 0;
  };

  bool share_with(Communicator& node, Communicator& data);
  std::span<double> slot(int node_worker, std::int64_t sum) const;
  void sum_part(int worker, std::span<double> values);
  void wait_for(SharedCounter& counter, std::int64_t count) const;
  void add_slots(std::int64_t sum, std::span<double> values) const;

  ThreadPool& pool_;
  std::unique_ptr<SharedMemory> memory_;
  int first_worker_ = 0, node_workers_ = 0;  ///< mine, of the node's
  std::unique_ptr<Communicator> leaders_;    ///< the first rank of each node; null elsewhere, and on one node
  bool several_nodes_ = false;
  std::vector<Worker> workers_;
  std::span<SharedCounter> arrived_;    ///< by worker of the node: sums it has written
  std::span<SharedCounter> published_;  ///< one: sums over all nodes
  std::span<double> slots_;             ///< by worker of the node, two of each
  std::span<double> result_;            ///< over all nodes
};

}  // namespace trainer
