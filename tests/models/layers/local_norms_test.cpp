#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("local_response_norm passes the gradient check for odd, even and wide windows", "[layers]") {
  const std::string size = GENERATE("1", "3", "4", "20");
  check_gradients("local_response_norm: {size: " + size + ", alpha: 2, beta: 0.6}", {2, 2, 5},
                  {.rows = 3, .workers = 2});
}

TEST_CASE("local_contrast_norm passes the gradient check", "[layers]") {
  check_gradients("local_contrast_norm: 3", {4, 5, 2}, {.rows = 3, .workers = 2});
  check_gradients("local_contrast_norm: 5", {3, 3, 1});
}

TEST_CASE("local_contrast_norm of a map of zeros is zeros, and of a bright one what is left keeps its sign",
          "[layers]") {
  LayerHarness harness("local_contrast_norm: 3", {5, 5, 1}, {.rows = 1});
  for (const float y : harness.forward(std::vector<float>(25))) CHECK(y == 0);
  std::vector<float> x(25);
  RandomStream(1, "x").fill_uniform(0, x);
  std::vector<float> bright = x;
  for (float& number : bright) number += 1;
  // In the middle nothing but neighbours counts, and what is left there is the same.
  const float dark_middle = harness.forward(x)[12], bright_middle = harness.forward(bright)[12];
  CHECK(std::signbit(dark_middle) == std::signbit(bright_middle));
}

TEST_CASE("a NaN spoils its neighbours in a local norm", "[layers]") {
  const std::string layer = GENERATE("local_response_norm: 3", "local_contrast_norm: 3");
  LayerHarness harness(layer, {3, 3, 3}, {.rows = 1});
  std::vector<float> x(27, 1.0f);
  x[13] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(harness.forward(x)[13]));
  CHECK(std::isnan(harness.forward(x)[12]));
}

TEST_CASE("a window of even size has no middle", "[layers]") {
  CHECK_THROWS_WITH(LayerHarness("local_contrast_norm: 4", {5, 5, 1}, {}), Catch::Contains("odd"));
}

}  // namespace
}  // namespace trainer
