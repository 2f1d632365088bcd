#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

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
