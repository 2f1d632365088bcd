#include "cli/commands/measured_step.h"

#include <catch2/catch.hpp>

namespace trainer {

TEST_CASE("a pause that the system makes after some short steps counts in their mean", "[cli]") {
  std::vector<double> seconds;
  for (int step = 0; step < 400; ++step) seconds.push_back(step % 4 == 3 ? 0.014 : 0.002);
  const std::vector<double> means = with_pauses(seconds);
  CHECK(means.size() > 10);
  for (const double mean : means) CHECK(mean == Approx(0.005).epsilon(0.15));
}

TEST_CASE("a long step is its own mean, and few short ones have one", "[cli]") {
  CHECK(with_pauses(std::vector{0.2, 0.3, 0.1}) == std::vector{0.2, 0.3, 0.1});
  const std::vector<double> means = with_pauses(std::vector{0.01, 0.02, 0.03});
  REQUIRE(means.size() == 1);
  CHECK(means.front() == Approx(0.02));
  CHECK(with_pauses({}).empty());
}

}  // namespace trainer
