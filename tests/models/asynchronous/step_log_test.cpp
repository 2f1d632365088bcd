// Steps whose units end in any order.
#include "models/asynchronous/step_log.h"

#include <array>
#include <catch2/catch.hpp>

namespace trainer {

TEST_CASE("a step is complete when all of its units are, whatever other steps do", "[async]") {
  StepLog log(2, 1);
  log.add(5, std::array{1.0, 1.0, 2.0, 2.0});
  log.add(6, std::array{10.0, 1.0, 4.0, 4.0});
  log.add(6, std::array{20.0, 0.0, 0.0, 0.0});
  CHECK_FALSE(log.take(5));
  CHECK(log.take(6) == std::vector{30.0});
  CHECK_FALSE(log.take(6));
  const Staleness staleness = log.take_staleness().staleness();
  CHECK(staleness.mean == 3);
  CHECK(staleness.max == 4);
  log.add(5, std::array{2.0, 1.0, 1.0, 1.0});
  CHECK(log.take(5) == std::vector{3.0});
  CHECK(log.take_staleness().staleness().mean == 1);
}

}  // namespace trainer
