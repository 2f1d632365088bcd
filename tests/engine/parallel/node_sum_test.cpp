#include "engine/parallel/node_sum.h"

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

std::vector<double> sums_in_order(int workers, std::size_t count) {
  std::vector<double> sums(count);
  for (std::size_t i = 0; i < count; ++i) {
    sums[i] = number(0, i);
    for (int worker = 1; worker < workers; ++worker) sums[i] += number(worker, i);
  }
  return sums;
}

}  // namespace

TEST_CASE("on one node the numbers of all workers are added by rank and thread, however many there are",
          "[parallel]") {
  Communicator& world = test_world();
  Mesh mesh(world, {.data = world.size()});
  const int threads = GENERATE(1, 2, 3);
  ThreadPool pool(threads, true);
  NodeSum node_sum(mesh, pool, true);
  for (const std::size_t count : {0U, 1U, 512U, 1300U}) {
    std::vector<char> right(static_cast<std::size_t>(threads));
    pool.run([&](int worker) {
      std::vector<double> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = number(world.rank() * threads + worker, i);
      node_sum.sum(worker, values);
      right[static_cast<std::size_t>(worker)] = values == sums_in_order(world.size() * threads, count);
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
  NodeSum node_sum(mesh, pool, share);
  std::vector<std::vector<double>> results(kThreads, std::vector<double>(kCount));
  pool.run([&](int worker) {
    std::vector<double>& values = results[static_cast<std::size_t>(worker)];
    for (std::size_t i = 0; i < kCount; ++i) values[i] = number(world.rank() * kThreads + worker, i);
    node_sum.sum(worker, values);
  });
  const std::vector<double> expected = sums_in_order(world.size() * kThreads, kCount);
  for (std::size_t i = 0; i < kCount; ++i) CHECK(results[0][i] == Approx(expected[i]).epsilon(1e-14));
  CHECK(results[0] == results[1]);
  for (const auto& bytes : world.gather(std::as_bytes(std::span(results[0])), 0))
    CHECK(std::memcmp(bytes.data(), results[0].data(), bytes.size()) == 0);
}

TEST_CASE("300 sums one after another stay apart when every worker dawdles at random", "[parallel]") {
  Communicator& world = test_world();
  const int ranks_per_node = GENERATE(0, 2);
  Mesh mesh(world, {.data = world.size(), .ranks_per_node = ranks_per_node});
  constexpr int kThreads = 2;
  ThreadPool pool(kThreads, true);
  NodeSum node_sum(mesh, pool, true);
  const RandomStream random(5, "dawdle", static_cast<std::uint64_t>(world.rank()));
  const int workers = world.size() * kThreads;
  std::vector<int> right(kThreads);
  pool.run([&](int worker) {
    const int me = world.rank() * kThreads + worker;
    for (int round = 0; round < 300; ++round) {
      const auto draw = static_cast<std::uint64_t>(worker) << 40 | static_cast<std::uint64_t>(round);
      if (random.below(draw, 8) == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(draw + 1000, 300)));
      double value = me + round;
      node_sum.sum(worker, {&value, 1});
      right[static_cast<std::size_t>(worker)] += value == workers * round + workers * (workers - 1) / 2;
    }
  });
  CHECK(right == std::vector<int>(kThreads, 300));
}

TEST_CASE("a worker that fails releases those of its rank that wait for its numbers", "[parallel]") {
  const auto alone = solo();
  Mesh mesh(*alone, {});
  ThreadPool pool(2, true);
  NodeSum node_sum(mesh, pool, true);
  CHECK_THROWS_WITH(pool.run([&](int worker) {
    if (worker == 1) throw std::runtime_error("no numbers");
    double value = 1;
    node_sum.sum(worker, {&value, 1});
  }),
                    "no numbers");
}

}  // namespace trainer
