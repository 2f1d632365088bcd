#include "engine/system/thread_pool.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <thread>

namespace trainer {

TEST_CASE("every worker runs the work once a run", "[core]") {
  const int threads = GENERATE(1, 2, 3);
  const bool oversubscribed = GENERATE(false, true);
  ThreadPool pool(threads, oversubscribed);
  std::vector<int> calls(static_cast<std::size_t>(threads));
  for (int run = 0; run < 100; ++run)
    pool.run([&](int worker) { ++calls[static_cast<std::size_t>(worker)]; });
  for (const int count : calls) CHECK(count == 100);
}

TEST_CASE("after a barrier every worker sees the earlier writes of the others", "[core]") {
  ThreadPool pool(3, true);
  std::vector<int> slots(3);
  std::atomic<int> wrong = 0;
  pool.run([&](int worker) {
    for (int round = 1; round <= 200; ++round) {
      slots[static_cast<std::size_t>(worker)] = round;
      pool.barrier();
      for (const int slot : slots) wrong += slot != round;
      pool.barrier();
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("one worker's exception reaches the caller and releases the others from their barrier", "[core]") {
  ThreadPool pool(3, true);
  for (int attempt = 0; attempt < 20; ++attempt)
    CHECK_THROWS_WITH(pool.run([&](int worker) {
      if (worker == 1) throw std::runtime_error("worker 1 fails");
      pool.barrier();
    }),
                      "worker 1 fails");
  int calls = 0;
  pool.run([&](int worker) {
    if (worker == 0) ++calls;
  });
  CHECK(calls == 1);
}

TEST_CASE("threads without work leave the cores to others", "[core]") {
  const bool oversubscribed = GENERATE(false, true);
  ThreadPool pool(3, oversubscribed);
  pool.run([](int) {});
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(std::clock() - before < CLOCKS_PER_SEC / 20);
}

TEST_CASE("a worker that waits long at a barrier leaves its core to others", "[core]") {
  ThreadPool pool(2, true);
  const std::clock_t before = std::clock();
  pool.run([&](int worker) {
    if (worker == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    pool.barrier();
  });
  CHECK(std::clock() - before < CLOCKS_PER_SEC / 10);
}

}  // namespace trainer
