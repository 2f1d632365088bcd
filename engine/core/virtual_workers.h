#pragma once

#include <algorithm>

#include "engine/core/range.h"

namespace trainer {

/// Partitions the global batch into virtual workers of consecutive rows, and maps these to the workers of
/// data ranks. Normally every worker has one. In exact mode their number is fixed, so that sums over them
/// round the same way for every number of workers (VirtualFlow, MLSys 2022).
struct VirtualWorkers {
  /// The most that `train.virtual_workers` allows.
  static constexpr int kMax = 1024;

  int count = 1;
  int ranks = 1, threads = 1;
  bool exact = false;
  bool rounds = false;  ///< in exact mode: gradients are rounded to bfloat16 where they are added

  static VirtualWorkers one_for_each_worker(int ranks, int threads) {
    return {.count = ranks * threads, .ranks = ranks, .threads = threads};
  }

  Range of_rank(int rank) const { return part_of(count, rank, ranks); }
  Range of_worker(int rank, int worker) const { return part_of(of_rank(rank), worker, threads); }
  /// The most virtual workers of one worker.
  int max_per_worker() const { return divided_up(divided_up(count, ranks), threads); }
  /// Rows of one virtual worker in a batch of `rows`; of several consecutive ones.
  Range rows(std::int64_t virtual_worker, std::int64_t rows) const {
    return part_of(rows, virtual_worker, count);
  }
  Range rows(const Range& virtual_workers, std::int64_t rows) const {
    return {rows * virtual_workers.first / count, rows * virtual_workers.last / count};
  }
  /// The most rows that a worker has in batches of up to `batch`.
  std::int64_t max_rows(std::int64_t batch) const { return (batch * max_per_worker() + count - 1) / count; }

 private:
  static int divided_up(int a, int b) { return (a + b - 1) / b; }
};

}  // namespace trainer
