#include "engine/core/virtual_workers.h"

#include <catch2/catch.hpp>

namespace trainer {

TEST_CASE("the parts of a batch, put together in order, are the batch", "[core]") {
  const std::int64_t parts = GENERATE(1, 2, 3, 4, 8);
  for (const std::int64_t n : {0, 1, 3, 7, 100, 128}) {
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < parts; ++i) {
      const Range part = part_of(n, i, parts);
      CHECK(part.first == next);
      CHECK(part.count() >= n / parts);
      CHECK(part.count() <= n / parts + 1);
      next = part.last;
    }
    CHECK(next == n);
  }
}

TEST_CASE("normally each worker of each rank has one virtual worker", "[core]") {
  const VirtualWorkers virtual_workers = VirtualWorkers::one_for_each_worker(3, 2);
  for (int rank = 0; rank < 3; ++rank)
    for (int worker = 0; worker < 2; ++worker)
      CHECK(virtual_workers.of_worker(rank, worker) == Range{2 * rank + worker, 2 * rank + worker + 1});
}

TEST_CASE(
    "a fixed number of virtual workers is distributed whole, in order, and to no worker more than the most",
    "[core]") {
  for (const int ranks : {1, 2, 3, 5, 8})
    for (const int threads : {1, 2, 3, 9})
      for (const std::int64_t rows : {0, 7, 100}) {
        const VirtualWorkers virtual_workers{.count = 8, .ranks = ranks, .threads = threads, .exact = true};
        std::int64_t next = 0, row = 0;
        for (int rank = 0; rank < ranks; ++rank)
          for (int worker = 0; worker < threads; ++worker) {
            const Range mine = virtual_workers.of_worker(rank, worker),
                        my_rows = virtual_workers.rows(mine, rows);
            CHECK(mine.first == next);
            CHECK(mine.count() <= virtual_workers.max_per_worker());
            CHECK(my_rows.first == row);
            CHECK(my_rows.count() <= virtual_workers.max_rows(rows));
            for (std::int64_t i = mine.first; i < mine.last; ++i)
              row += virtual_workers.rows(i, rows).count();
            CHECK(my_rows.last == row);
            next = mine.last;
          }
        CHECK(next == 8);
        CHECK(row == rows);
      }
}

}  // namespace trainer
