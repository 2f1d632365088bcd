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

}  // namespace
}  // namespace trainer
