#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/core/sum_tree.h"
#include "engine/core/virtual_workers.h"
#include "engine/parallel/mesh.h"
#include "engine/parallel/window_parts.h"
#include "engine/system/thread_pool.h"

namespace trainer {

/// All-reduce of statistics over the virtual workers of the whole batch, while workers compute. Workers of
/// one node write into slots that the node shares, and each adds all slots along a tree over the virtual
/// workers: one wait, no MPI call, and the same bits everywhere, however virtual workers are distributed.
/// Between nodes MPI adds the sums of the nodes; in exact mode MPI only collects the values of all virtual
/// workers.
class ScalarReducer {
 public:
  /// Collective. `share`: false: every rank is a node of its own, as when /dev/shm is too small.
  /// `virtual_workers`: of the data ranks and the threads of `pool`.
  ScalarReducer(Mesh& mesh, ThreadPool& pool, bool share, const VirtualWorkers& virtual_workers);

  /// Every worker of every data rank calls, from inside pool.run(), with a line for each of its virtual
  /// workers; all get the sum of all lines, which are as long as `total`.
  void sum(int worker, std::span<const double> lines, std::span<double> total);
  /// What the sums since the last call took on the first worker, with its waiting for others; 0 on one rank.
  std::chrono::nanoseconds take_time() { return std::exchange(time_, {}); }

  /// Doubles; longer sums are taken in parts.
  static constexpr std::int64_t kSlot = 4096;

 private:
  /// How many sums a worker has begun. Written by its own thread only.
  struct alignas(64) Worker {
    std::int64_t sums = 0;
    std::vector<const double*> lines;  ///< of the sum under way, by virtual worker of the node
  };

  bool share_with(Communicator& node, Communicator& data);
  std::span<double> slot(std::int64_t index, std::int64_t sum) const;
  template <class Line>
  void sum_part(int worker, Line line, std::span<double> total);
  void wait_for(SharedCounter& counter, std::int64_t count) const;
  void wait_for_all(int worker, std::int64_t sum) const;
  void add_slots(int worker, std::int64_t sum, std::span<double> total);
  void add_over_nodes(std::int64_t sum, std::span<double> total);

  ThreadPool& pool_;
  Heartbeat& heartbeat_;
  VirtualWorkers virtual_workers_;
  int rank_;
  std::unique_ptr<SharedMemory> memory_;
  int first_rank_ = 0, rank_step_ = 1;  ///< of the world: where the ranks of the node are in it
  int first_worker_ = 0;                ///< of this rank, among those of the node
  Range virtual_workers_of_node_;
  SumTree node_tree_{1, {}}, whole_tree_{1, {}};
  std::vector<double> all_lines_;          ///< by virtual worker, where MPI collects them
  std::unique_ptr<Communicator> leaders_;  ///< the first rank of each node; null elsewhere, and on one node
  bool several_ranks_, several_nodes_ = false;
  std::chrono::nanoseconds time_{};
  std::vector<Worker> workers_;
  std::span<SharedCounter> arrived_;    ///< by worker of the node: sums it has written
  std::span<SharedCounter> published_;  ///< one: sums over all nodes
  std::span<double> slots_;             ///< by virtual worker of the node, two of each
  std::span<double> result_;            ///< over all nodes
};

}  // namespace trainer
