#pragma once

#include <algorithm>

#include "engine/core/range.h"

namespace trainer {

/// How the global batch is cut into blocks of consecutive rows, and which worker of which data rank computes
/// each. Normally every worker has one. In exact mode their number is fixed: sums over blocks then round the
/// same way however many workers there are.
struct VirtualWorkers {
  /// In exact mode.
  static constexpr int kMost = 1024;

  int count = 1;
  int ranks = 1, threads = 1;
  bool exact = false;

  static VirtualWorkers one_for_each_worker(int ranks, int threads) {
    return {.count = ranks * threads, .ranks = ranks, .threads = threads};
  }

  Range of_rank(int rank) const { return part_of(count, rank, ranks); }
  Range of_worker(int rank, int worker) const { return part_of(of_rank(rank), worker, threads); }
  /// The most that a worker has.
  int most() const { return divided_up(divided_up(count, ranks), threads); }
  /// Rows of a block in a batch of `rows`; of several consecutive ones.
  Range rows(std::int64_t block, std::int64_t rows) const { return part_of(rows, block, count); }
  Range rows(const Range& blocks, std::int64_t rows) const {
    return {rows * blocks.first / count, rows * blocks.last / count};
  }
  /// The most rows that a worker has in batches of up to `batch`.
  std::int64_t most_rows(std::int64_t batch) const { return (batch * most() + count - 1) / count; }

 private:
  static int divided_up(int a, int b) { return (a + b - 1) / b; }
};

}  // namespace trainer
