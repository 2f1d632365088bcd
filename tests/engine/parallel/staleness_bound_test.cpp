// The order of reads and updates of a shard keeps the bound whatever workers do, and never locks up.
#include "engine/parallel/staleness_bound.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace trainer {

TEST_CASE("no gradient exceeds the bound, and an oldest one may always update, for any speeds of workers",
          "[async]") {
  const int workers = GENERATE(1, 2, 3, 4, 7);
  const std::int64_t bound = GENERATE(0, 1, 2, 3, 6, 20);
  std::mt19937 random(static_cast<unsigned>(100 * workers + bound));
  StalenessBound order(workers, bound);
  std::vector<bool> has_computed(static_cast<std::size_t>(workers));
  std::int64_t largest = 0;
  int stuck = 0;
  for (int turn = 0; turn < 5000; ++turn) {
    // Worker 0 is slow: it acts seldom.
    const int worker = static_cast<int>(random() % static_cast<unsigned>(workers));
    if (worker == 0 && random() % 10 != 0 && stuck < 100) continue;
    const auto index = static_cast<std::size_t>(worker);
    ++stuck;
    if (!order.version_of(worker)) {
      if (!order.may_read()) continue;
      order.read(worker);
      has_computed[index] = false;
      stuck = 0;
    } else if (!has_computed[index]) {
      has_computed[index] = true;
      stuck = 0;
    } else if (order.may_update(worker)) {
      largest = std::max(largest, order.update(worker));
      stuck = 0;
    }
    REQUIRE(stuck < 1000);
  }
  CHECK(largest <= bound);
  // It is a bound, not a lock: a slow worker's gradient gets as stale as it may.
  if (workers > 1) CHECK(largest == bound);
  CHECK(order.version() > 50);
}

TEST_CASE("a fast worker waits for a slow one at the bound, and no longer when the slow one has left",
          "[async]") {
  StalenessBound order(2, 3);
  order.read(0);
  for (int update = 0; update < 3; ++update) {
    order.read(1);
    REQUIRE(order.may_update(1));
    CHECK(order.update(1) == 0);
  }
  order.read(1);
  CHECK_FALSE(order.may_update(1));
  CHECK(order.may_update(0));
  SECTION("it updates") {
    CHECK(order.update(0) == 3);
    CHECK(order.may_update(1));
    CHECK(order.update(1) == 1);
  }
  SECTION("it leaves") {
    order.leave(0);
    CHECK(order.may_update(1));
  }
}

TEST_CASE("with a bound of b no more than b + 1 workers have gradients under way", "[async]") {
  StalenessBound order(4, 1);
  order.read(2);
  CHECK(order.may_read());
  order.read(3);
  CHECK_FALSE(order.may_read());
  CHECK(order.update(2) == 0);
  CHECK(order.may_read());
}

}  // namespace trainer
