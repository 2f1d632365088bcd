#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("layer_norm passes the gradient check, alone and between layers", "[layers]") {
  check_gradients("layer_norm", {5}, {.rows = 4, .workers = 2});
  check_gradients("layer_norm: {bias: false, epsilon: 0.1}", {3, 4});
  check_gradients("dense: 6, layer_norm, tanh", {2, 3}, {.rows = 3});
}

TEST_CASE("rms_norm passes the gradient check, alone and between layers", "[layers]") {
  check_gradients("rms_norm", {5}, {.rows = 4, .workers = 2});
  check_gradients("rms_norm: {epsilon: 0.1}", {3, 4});
  check_gradients("dense: 6, rms_norm, tanh", {2, 3}, {.rows = 3});
}

TEST_CASE("rms_norm divides by the root of the mean square and keeps the mean", "[layers]") {
  LayerHarness harness("rms_norm: 1e-12", {2, 2}, {.rows = 1});
  for (float& value : harness.values(harness.parameters()[0])) value = 2;
  const std::vector<float> y = harness.forward(std::vector<float>{7, 7, -1, 0});
  CHECK(y[0] == Approx(2));
  CHECK(y[1] == Approx(2));
  CHECK(y[2] == Approx(-2 * std::sqrt(2.0f)));
  CHECK(y[3] == 0);
}

TEST_CASE("layer_norm treats each position by itself, and a constant one gives the bias", "[layers]") {
  LayerHarness harness("layer_norm", {2, 3}, {.rows = 1});
  for (const Parameter& parameter : harness.parameters())
    for (float& value : harness.values(parameter)) value = parameter.name == "layer_norm1.weight" ? 2 : 0.5f;
  const std::vector<float> y = harness.forward(std::vector<float>{7, 7, 7, -1, 0, 1});
  for (std::size_t i = 0; i < 3; ++i) CHECK(y[i] == 0.5f);
  const float deviation = std::sqrt(2.0f / 3 + 1e-5f);
  CHECK(y[3] == Approx(0.5f - 2 / deviation));
  CHECK(y[4] == 0.5f);
}

TEST_CASE("a NaN spoils its own position of a norm and no other", "[layers]") {
  const std::string layer = GENERATE("layer_norm", "rms_norm");
  LayerHarness harness(layer, {2, 3}, {.rows = 1});
  const std::vector<float> y =
      harness.forward(std::vector<float>{1, 2, 3, 4, std::numeric_limits<float>::quiet_NaN(), 6});
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i >= 3));
}

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
