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

TEST_CASE("shares that are given divide any batch in order, and no worker has more rows than the most",
          "[core]") {
  const bool exact = GENERATE(false, true);
  const std::vector<std::int64_t> ends =
      exact ? std::vector<std::int64_t>{1, 6, 8} : std::vector<std::int64_t>{5, 80, 100};
  for (const int threads : {1, 2, 7})
    for (const std::int64_t rows : {0, 1, 7, 99, 100}) {
      CAPTURE(exact, threads, rows);
      const VirtualWorkers workers{
          .count = exact ? 8 : 3 * threads, .ranks = 3, .threads = threads, .exact = exact, .ends = ends};
      std::int64_t next = 0, row = 0;
      for (int rank = 0; rank < 3; ++rank)
        for (int worker = 0; worker < threads; ++worker) {
          const Range mine = workers.of_worker(rank, worker), my_rows = workers.rows(mine, rows);
          CHECK(mine.first == next);
          CHECK(mine.count() <= workers.max_per_worker());
          CHECK(my_rows.first == row);
          CHECK(my_rows.count() <= workers.max_rows(100));
          for (std::int64_t i = mine.first; i < mine.last; ++i) row += workers.rows(i, rows).count();
          CHECK(my_rows.last == row);
          next = mine.last;
        }
      CHECK(next == workers.count);
      CHECK(row == rows);
    }
}

TEST_CASE("shares count the samples of a full batch, and the rows of virtual workers never change",
          "[core]") {
  const VirtualWorkers normal{.count = 4, .ranks = 2, .threads = 2, .ends = {25, 100}};
  CHECK(normal.rows(normal.of_rank(0), 100) == Range{0, 25});
  CHECK(normal.rows(normal.of_rank(1), 100) == Range{25, 100});
  CHECK(normal.rows(normal.of_worker(1, 0), 100) == Range{25, 62});
  VirtualWorkers exact{.count = 8, .ranks = 2, .threads = 2, .exact = true};
  const Range third = exact.rows(2, 100);
  exact.ends = {2, 8};
  CHECK(exact.of_rank(0) == Range{0, 2});
  CHECK(exact.of_worker(1, 1) == Range{5, 8});
  CHECK(exact.rows(2, 100) == third);
}

TEST_CASE("the rows of a rank that several ranks split are those that it had", "[core]") {
  const bool exact = GENERATE(false, true), is_given = GENERATE(false, true);
  const int parts = GENERATE(1, 2, 3);
  VirtualWorkers whole{.count = exact ? 9 : 4, .ranks = 2, .threads = 2, .exact = exact};
  if (is_given) whole.ends = exact ? std::vector<std::int64_t>{3, 9} : std::vector<std::int64_t>{30, 100};
  const VirtualWorkers split = whole.split(parts);
  CHECK(split.ranks == 2 * parts);
  for (const std::int64_t rows : {0, 1, 7, 100})
    for (int rank = 0; rank < 2; ++rank) {
      CAPTURE(exact, is_given, parts, rows, rank);
      const Range all = whole.rows(whole.of_rank(rank), rows);
      std::int64_t next = all.first;
      for (int part = 0; part < parts; ++part) {
        const Range mine = split.rows(split.of_rank(rank * parts + part), rows);
        CHECK(mine.first == next);
        next = mine.last;
      }
      CHECK(next == all.last);
    }
}

}  // namespace trainer
