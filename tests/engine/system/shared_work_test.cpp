#include "engine/system/shared_work.h"

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/system/thread_pool.h"

namespace trainer {
namespace {

/// Until another thread of the pool waits; false if none does.
bool await_helpers() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (waiting_helpers() == 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return waiting_helpers() > 0;
}

/// Shares two parts, of which the first one to begin ends only when the other has begun.
void share_parts_that_meet() {
  std::atomic<int> begun = 0;
  share(2, [&](int) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
  });
}

}  // namespace

TEST_CASE("every part is computed once by whichever thread", "[core]") {
  const int threads = GENERATE(1, 2, 3);
  const int sharing = GENERATE(1, 2);
  ThreadPool pool(threads);
  std::vector<std::array<int, 7>> counts(static_cast<std::size_t>(threads));
  pool.run([&](int worker) {
    auto& mine = counts[static_cast<std::size_t>(worker)];
    for (int round = 0; worker < sharing && round < 1000; ++round)
      share(7, [&](int part) { ++mine[static_cast<std::size_t>(part)]; });
  });
  for (int worker = 0; worker < threads; ++worker)
    for (const int count : counts[static_cast<std::size_t>(worker)])
      CHECK(count == (worker < sharing ? 1000 : 0));
}

TEST_CASE("a thread without work takes parts of another one's", "[core]") {
  const int sharing = GENERATE(0, 1);
  ThreadPool pool(2);
  bool waits = false;
  pool.run([&](int worker) {
    if (worker != sharing) return;
    waits = await_helpers();
    if (waits) share_parts_that_meet();
  });
  CHECK(waits);
}

TEST_CASE("a thread that is no worker has no work of its own, and takes parts of others'", "[core]") {
  const int workers = GENERATE(1, 2);
  ThreadPool pool(3, false, {}, workers);
  CHECK(pool.size() == workers);
  CHECK(pool.threads() == 3);
  for (int round = 0; round < 20; ++round) {
    std::vector<int> calls(3);
    bool waits = false;
    pool.run([&](int worker) {
      ++calls[static_cast<std::size_t>(worker)];
      pool.barrier();
      if (worker != 0) return;
      waits = await_helpers();
      if (waits) share_parts_that_meet();
    });
    CHECK(waits);
    for (int worker = 0; worker < 3; ++worker)
      CHECK(calls[static_cast<std::size_t>(worker)] == (worker < workers ? 1 : 0));
  }
}

TEST_CASE("a thread at a barrier takes parts of another one's", "[core]") {
  ThreadPool pool(2);
  bool waits = false;
  pool.run([&](int worker) {
    if (worker == 1) {
      waits = await_helpers();
      if (waits) share_parts_that_meet();
    }
    pool.barrier();
  });
  CHECK(waits);
}

TEST_CASE("waiting threads are divided between those that compute", "[core]") {
  ThreadPool pool(5);
  std::array<std::atomic<bool>, 2> has_one{};
  pool.run([&](int worker) {
    if (worker >= 2) return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!(has_one[0] && has_one[1]) && std::chrono::steady_clock::now() < end)
      if (waiting_helpers() == 1) has_one[static_cast<std::size_t>(worker)] = true;
  });
  CHECK(has_one[0]);
  CHECK(has_one[1]);
}

TEST_CASE("threads that share cores with others take no parts", "[core]") {
  ThreadPool pool(2, true);
  int helpers = -1;
  pool.run([&](int worker) {
    if (worker == 1) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    helpers = waiting_helpers();
  });
  CHECK(helpers == 0);
}

TEST_CASE("a part has no helpers, and neither has a thread outside a pool", "[core]") {
  CHECK(waiting_helpers() == 0);
  int calls = 0;
  share(3, [&](int) { ++calls; });
  CHECK(calls == 3);
  ThreadPool pool(3);
  std::array<int, 2> helpers{-1, -1};
  pool.run([&](int worker) {
    if (worker > 0 || !await_helpers()) return;
    share(2, [&](int part) { helpers[static_cast<std::size_t>(part)] = waiting_helpers(); });
  });
  CHECK(helpers == std::array{0, 0});
}

TEST_CASE("the exception of a part reaches the thread that shares it", "[core]") {
  ThreadPool pool(2);
  for (int attempt = 0; attempt < 50; ++attempt)
    CHECK_THROWS_WITH(pool.run([&](int worker) {
      if (worker == 1) return;
      share(4, [](int part) {
        if (part == 2) throw std::runtime_error("part 2 fails");
      });
    }),
                      "part 2 fails");
}

}  // namespace trainer
