#include "engine/parallel/scalar_reducer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "engine/core/random.h"
#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

/// Numbers whose sum depends on the order.
double number(int worker, std::size_t i) { return 1.0 / static_cast<double>(3 * i + 7) + worker * 0.1; }

std::vector<double> sums_by_tree(int leaves, std::size_t count) {
  std::vector<std::vector<double>> lines(static_cast<std::size_t>(leaves), std::vector<double>(count));
  std::vector<const double*> inputs;
  for (int leaf = 0; leaf < leaves; ++leaf) {
    std::vector<double>& line = lines[static_cast<std::size_t>(leaf)];
    for (std::size_t i = 0; i < count; ++i) line[i] = number(leaf, i);
    inputs.push_back(line.data());
  }
  std::vector<double> sums(count);
  double* const root = sums.data();
  SumTree::of_leaves(leaves, {0, leaves}).sum(inputs, {&root, 1}, 0, static_cast<std::int64_t>(count));
  return sums;
}

/// One virtual worker for each thread.
VirtualWorkers workers_of(Mesh& mesh, const ThreadPool& pool) {
  return VirtualWorkers::one_for_each_worker(mesh.data().size(), pool.size());
}

}  // namespace

TEST_CASE("on one node the values of all workers are added along a tree, for every number of workers",
          "[parallel]") {
  Communicator& world = test_world();
  Mesh mesh(world, {.data = world.size()});
  const int threads = GENERATE(1, 2, 3);
  ThreadPool pool(threads, true);
  ScalarReducer reducer(mesh, pool, true, workers_of(mesh, pool));
  for (const std::size_t count : {0U, 1U, 512U, 1300U}) {
    std::vector<char> right(static_cast<std::size_t>(threads));
    pool.run([&](int worker) {
      std::vector<double> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = number(world.rank() * threads + worker, i);
      std::vector<double> total(count);
      reducer.sum(worker, values, total);
      right[static_cast<std::size_t>(worker)] = total == sums_by_tree(world.size() * threads, count);
    });
    CHECK(std::ranges::count(right, 1) == threads);
  }
}

TEST_CASE("every worker gets the same bits of a sum, whichever nodes there are", "[parallel]") {
  Communicator& world = test_world();
  const int ranks_per_node = GENERATE(0, 1, 2, 3);
  const bool share = GENERATE(true, false);
  Mesh mesh(world, {.data = world.size(), .ranks_per_node = ranks_per_node});
  constexpr int kThreads = 2;
  constexpr std::size_t kCount = 600;
  ThreadPool pool(kThreads, true);
  ScalarReducer reducer(mesh, pool, share, workers_of(mesh, pool));
  std::vector<std::vector<double>> results(kThreads, std::vector<double>(kCount));
  pool.run([&](int worker) {
    std::vector<double>& values = results[static_cast<std::size_t>(worker)];
    for (std::size_t i = 0; i < kCount; ++i) values[i] = number(world.rank() * kThreads + worker, i);
    const std::vector<double> line = values;
    reducer.sum(worker, line, values);
  });
  const std::vector<double> expected = sums_by_tree(world.size() * kThreads, kCount);
  for (std::size_t i = 0; i < kCount; ++i) CHECK(results[0][i] == Approx(expected[i]).epsilon(1e-14));
  CHECK(results[0] == results[1]);
  for (const auto& bytes : world.gather(std::as_bytes(std::span(results[0])), 0))
    CHECK(std::memcmp(bytes.data(), results[0].data(), bytes.size()) == 0);
}

TEST_CASE("in exact mode sums have the same bits on any ranks, threads and nodes", "[parallel]") {
  Communicator& world = test_world();
  const int leaves = GENERATE(8, 7);
  const int ranks_per_node = GENERATE(0, 1, 2, 3);
  const int threads = GENERATE(1, 2, 5);
  const bool share = GENERATE(true, false);
  CAPTURE(leaves, ranks_per_node, threads, share);
  Mesh mesh(world, {.data = world.size(), .ranks_per_node = ranks_per_node});
  ThreadPool pool(threads, true);
  VirtualWorkers virtual_workers{.count = leaves, .ranks = world.size(), .threads = threads, .exact = true};
  if (GENERATE(false, true)) {  // each rank has one leaf, and the last one the rest
    for (int rank = 1; rank < world.size(); ++rank) virtual_workers.ends.push_back(rank);
    virtual_workers.ends.push_back(leaves);
  }
  ScalarReducer reducer(mesh, pool, share, virtual_workers);
  for (const std::size_t count : {1U, 700U}) {
    const std::vector<double> expected = sums_by_tree(leaves, count);
    std::vector<char> right(static_cast<std::size_t>(threads));
    pool.run([&](int worker) {
      const Range mine = virtual_workers.of_worker(world.rank(), worker);
      std::vector<double> lines, total(count);
      for (std::int64_t leaf = mine.first; leaf < mine.last; ++leaf)
        for (std::size_t i = 0; i < count; ++i) lines.push_back(number(static_cast<int>(leaf), i));
      reducer.sum(worker, lines, total);
      right[static_cast<std::size_t>(worker)] = total == expected;
    });
    CHECK(std::ranges::count(right, 1) == threads);
  }
}

TEST_CASE("300 sums one after another stay apart when every worker dawdles at random", "[parallel]") {
  Communicator& world = test_world();
  const int ranks_per_node = GENERATE(0, 2);
  Mesh mesh(world, {.data = world.size(), .ranks_per_node = ranks_per_node});
  constexpr int kThreads = 2;
  ThreadPool pool(kThreads, true);
  ScalarReducer reducer(mesh, pool, true, workers_of(mesh, pool));
  const RandomStream random(5, "dawdle", static_cast<std::uint64_t>(world.rank()));
  const int workers = world.size() * kThreads;
  std::vector<int> right(kThreads);
  pool.run([&](int worker) {
    const int me = world.rank() * kThreads + worker;
    for (int round = 0; round < 300; ++round) {
      const auto draw = static_cast<std::uint64_t>(worker) << 40 | static_cast<std::uint64_t>(round);
      if (random.below(draw, 8) == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(draw + 1000, 300)));
      const double line = me + round;
      double value = 0;
      reducer.sum(worker, {&line, 1}, {&value, 1});
      const int sum = workers * round + workers * (workers - 1) / 2;
      right[static_cast<std::size_t>(worker)] += value == sum;
    }
  });
  CHECK(right == std::vector<int>(kThreads, 300));
}

TEST_CASE("a worker that fails releases the workers of its rank that wait for its values", "[parallel]") {
  const auto alone = solo();
  Mesh mesh(*alone, {});
  ThreadPool pool(2, true);
  ScalarReducer reducer(mesh, pool, true, workers_of(mesh, pool));
  CHECK_THROWS_WITH(pool.run([&](int worker) {
    if (worker == 1) throw std::runtime_error("no numbers");
    const double line = 1;
    double value = 0;
    reducer.sum(worker, {&line, 1}, {&value, 1});
  }),
                    "no numbers");
}

}  // namespace trainer
