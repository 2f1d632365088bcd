#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("concat passes the gradient check", "[layers]") {
  check_gradients("concat: [[dense: 3, tanh], [], [dense: {units: 2, activation: sigmoid}]]", {4},
                  {.rows = 3, .workers = 2});
  check_gradients(
      "conv: {filters: 2, kernel: 1}, concat: [[conv: {filters: 3, kernel: 3, pad: same}, tanh], "
      "[avg_pool: {size: 3, stride: 1, pad: 1}]], sigmoid",
      {4, 3, 2}, {.rows = 2});
}

TEST_CASE("concat joins its branches along the channels, in their order", "[layers]") {
  LayerHarness harness("concat: [[leaky_relu: 0.5], []]", {1, 2, 2}, {.rows = 1});
  CHECK(harness.output() == Shape{1, 2, 4});
  CHECK(harness.forward(std::vector<float>{1, -2, -3, 4}) ==
        std::vector<float>{1, -1, 1, -2, -1.5f, 4, -3, 4});
}

TEST_CASE("branches that differ in more than channels are an error", "[layers]") {
  CHECK_THROWS_WITH(LayerHarness("concat: [[max_pool: 2], []]", {4, 4, 3}, {}),
                    Catch::Contains("concat1 does not fit: branches give 3x2x2 and 3x4x4"));
  CHECK_THROWS_WITH(LayerHarness("concat: [[flatten], []]", {4, 4, 3}, {}), Catch::Contains("branches give"));
  CHECK_THROWS_WITH(LayerHarness("concat: []", {4}, {}), Catch::Contains("branches"));
}

TEST_CASE("multiply passes the gradient check, with gates, the identity and three branches", "[layers]") {
  check_gradients("multiply: [[dense: {units: 5, activation: silu}], [dense: 5]], dense: 3", {4},
                  {.rows = 4, .workers = 2});
  check_gradients("dense: 4, multiply: [[], [dense: {units: 4, activation: sigmoid}]]", {2, 3}, {.rows = 2});
  check_gradients("multiply: [[tanh], [dense: 3, relu], [dense: 3]]", {3}, {.rows = 3});
}

TEST_CASE("a product of the input with itself is its square", "[layers]") {
  LayerHarness harness("multiply: [[], []]", {3}, {.rows = 1});
  CHECK(harness.forward(std::vector<float>{1, -2, 3}) == std::vector<float>{1, 4, 9});
  CHECK(harness.backward(std::vector<float>{1, 1, 2}) == std::vector<float>{2, -4, 12});
}

TEST_CASE("a multiply that does not fit is an error that names the reason", "[layers]") {
  CHECK_THROWS_WITH(LayerHarness("multiply: [[dense: 3], [dense: 4]]", {5}, {}),
                    Catch::Contains("branches give 3 and 4"));
  CHECK_THROWS_WITH(LayerHarness("multiply: [[dense: 3]]", {5}, {}),
                    Catch::Contains("less than two branches"));
}

}  // namespace
}  // namespace trainer
