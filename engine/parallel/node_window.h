#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/core/memory_ledger.h"
#include "engine/parallel/communicator.h"
#include "engine/parallel/window_parts.h"

namespace trainer {

/// Memory that the ranks of a node share: parameters, gradients, the progress of each worker, and a barrier
/// of ranks that makes no MPI call. Workers are counted over the node, by rank, then by thread; gradients
/// over the node, too.
class NodeWindow {
 public:
  struct Layout {
    std::int64_t floats = 0;            ///< of the flat buffer
    std::vector<int> workers;           ///< threads of each rank of the node
    int gradients = 1;                  ///< of all ranks of the node
    int table_rows = 1;                 ///< ranks of an all-reduce
    int first_rank = 0, rank_step = 1;  ///< of the world: where the node's ranks are in it
    static constexpr int kTableColumns = 256;

    int all_workers() const;
    std::int64_t bytes() const;
  };
  NodeWindow(Layout layout, std::unique_ptr<SharedMemory> memory, int my_rank, bool oversubscribed,
             Heartbeat& heartbeat);

  /// From now on its pages count as parameters and gradients once they are written.
  void count_pages();

  std::span<float> values() const { return values_; }
  float* gradients(int index) const { return gradients_[static_cast<std::size_t>(index)]; }
  std::span<const float* const> all_gradients() const { return sources_; }
  int first_worker() const { return first_worker_; }

  /// Counts only upwards, so it needs no reset between steps. A release operation: a thread that reads the
  /// progress also sees the worker's earlier writes.
  void set_progress(int worker, std::int64_t progress) const;
  bool all_reached(std::int64_t progress) const;
  void wait_for_progress(std::int64_t progress, int bucket) const;

  /// No rank returns before all have called; then they see all that was written before. `what`: its name in
  /// the messages of the watchdog.
  void barrier(const char* what);

  /// Row `row` of one of two tables, used in turn: while some still read one, others fill the next.
  std::span<double> table_row(int table, int row) const;

 private:
  int world_rank(int rank) const { return layout_.first_rank + rank * layout_.rank_step; }

  Layout layout_;
  std::unique_ptr<SharedMemory> memory_;
  int my_rank_, first_worker_;
  bool oversubscribed_;
  Heartbeat& heartbeat_;
  std::int64_t generation_ = 0;
  std::span<float> values_;
  std::vector<float*> gradients_;
  std::vector<const float*> sources_;
  std::optional<CountedPages> counted_values_, counted_gradients_;
  std::span<SharedCounter> progress_, arrived_;
  std::span<double> tables_;
};

}  // namespace trainer
