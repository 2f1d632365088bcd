#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

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
  /// Where the share of each rank ends; empty: shares are equal. In exact mode counted in virtual workers,
  /// else in equal parts of a batch.
  std::vector<std::int64_t> ends = {};

  static VirtualWorkers one_for_each_worker(int ranks, int threads) {
    return {.count = ranks * threads, .ranks = ranks, .threads = threads};
  }

  Range of_rank(int rank) const { return exact && !ends.empty() ? share(rank) : part_of(count, rank, ranks); }
  Range of_worker(int rank, int worker) const { return part_of(of_rank(rank), worker, threads); }
  /// The most virtual workers of one worker.
  int max_per_worker() const {
    const std::int64_t of_rank = exact && !ends.empty() ? largest_share() : divided_up(count, ranks);
    return static_cast<int>(divided_up(of_rank, threads));
  }
  /// Rows of one virtual worker in a batch of `rows`; of several consecutive ones.
  Range rows(std::int64_t virtual_worker, std::int64_t rows) const {
    return {first_row(virtual_worker, rows), first_row(virtual_worker + 1, rows)};
  }
  Range rows(const Range& virtual_workers, std::int64_t rows) const {
    return {first_row(virtual_workers.first, rows), first_row(virtual_workers.last, rows)};
  }
  /// The most rows that a worker has in batches of up to `batch`.
  std::int64_t max_rows(std::int64_t batch) const {
    if (exact || ends.empty()) return divided_up(batch * max_per_worker(), count);
    return divided_up(divided_up(batch * largest_share(), ends.back()), threads);
  }
  /// The same rows, those of each rank over `parts` ranks.
  VirtualWorkers split(int parts) const {
    VirtualWorkers result = *this;
    result.ranks *= parts;
    result.ends.clear();
    if (!exact) result.count *= parts;
    for (int rank = 0; rank < std::ssize(ends); ++rank)
      for (int part = 1; part <= parts; ++part)
        result.ends.push_back(exact ? part_of(share(rank), part - 1, parts).last
                                    : share(rank).first * parts + share(rank).count() * part);
    return result;
  }

 private:
  Range share(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return {rank > 0 ? ends[index - 1] : 0, ends[index]};
  }
  std::int64_t largest_share() const {
    std::int64_t largest = 0;
    for (int rank = 0; rank < ranks; ++rank) largest = std::max(largest, share(rank).count());
    return largest;
  }
  std::int64_t first_row(std::int64_t virtual_worker, std::int64_t rows) const {
    if (exact || ends.empty()) return rows * virtual_worker / count;
    if (virtual_worker == count) return rows;
    const Range parts = share(static_cast<int>(virtual_worker / threads));
    const Range mine{rows * parts.first / ends.back(), rows * parts.last / ends.back()};
    return part_of(mine, virtual_worker % threads, threads).first;
  }
  static std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
};

}  // namespace trainer
