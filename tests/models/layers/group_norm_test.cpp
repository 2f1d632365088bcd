#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("group_norm passes the gradient check on maps and vectors", "[layers]") {
  check_gradients("group_norm: 2", {2, 3, 4}, {.rows = 3, .workers = 2});
  check_gradients("group_norm: 1", {6});
  check_gradients("dense: 6, group_norm: 2, tanh", {3, 4}, {.rows = 4, .workers = 2});
}

TEST_CASE("a sample of group_norm does not depend on those beside it, nor on the mode", "[layers]") {
  LayerHarness harness("group_norm: 2", {2, 2, 4}, {.rows = 2});
  std::vector<float> x(32);
  RandomStream(1, "x").fill_uniform(0, x);
  const std::vector<float> both = harness.forward(x);
  std::fill(x.begin(), x.begin() + 16, 7.0f);
  const std::vector<float> other = harness.forward(x, Mode::evaluation);
  CHECK(std::equal(both.begin() + 16, both.end(), other.begin() + 16));
}

TEST_CASE("groups that do not divide the channels do not fit", "[layers]") {
  CHECK_THROWS_WITH(LayerHarness("group_norm: 3", {2, 2, 4}, {}), Catch::Contains("3 groups do not divide"));
}

}  // namespace
}  // namespace trainer
