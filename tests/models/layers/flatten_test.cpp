#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("flatten gives a map in the order channels, height, width", "[layers]") {
  LayerHarness harness("flatten", {1, 2, 3}, {.rows = 2});
  const std::vector<float> x{1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60};
  CHECK(harness.forward(x) == std::vector<float>{1, 4, 2, 5, 3, 6, 10, 40, 20, 50, 30, 60});
}

TEST_CASE("flatten of one channel moves nothing", "[layers]") {
  LayerHarness harness("flatten, relu", {2, 2, 1}, {.rows = 1});
  CHECK(harness.forward(std::vector<float>{1, 2, 3, 4}) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("flatten passes the gradient check at every place of a network", "[layers]") {
  check_gradients("flatten", {2, 3, 2}, {.rows = 3, .workers = 2});
  check_gradients("flatten", {2, 3, 1});
  check_gradients("relu, flatten", {2, 3, 1});
  check_gradients("flatten, tanh, dense: 2", {2, 3, 1});
  check_gradients("flatten", {2, 3});
}

TEST_CASE("a dense layer behind a map gets a flatten", "[layers]") {
  LayerHarness harness("max_pool: 1, dense: 2, relu", {2, 2, 3}, {});
  const auto& parameters = harness.parameters();
  CHECK(parameters[0].name == "dense1.weight");
  CHECK(parameters[0].shape == Shape{12, 2});
}

}  // namespace
}  // namespace trainer
