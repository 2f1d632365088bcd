#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

constexpr std::int64_t kRows = 5, kVisible = 4, kHidden = 3;

float sigmoid(double x) { return static_cast<float>(1 / (1 + std::exp(-x))); }

/// The layer's definition in plain loops, with the layer's own random numbers.
struct Machine {
  std::vector<float> weight, bias, visible_bias;  // weight is (visible, hidden)

  std::vector<float> up(const std::vector<float>& v) const {
    std::vector<float> h;
    for (std::size_t k = 0; k < kHidden; ++k) {
      double sum = bias[k];
      for (std::size_t i = 0; i < kVisible; ++i) sum += static_cast<double>(v[i]) * weight[i * kHidden + k];
      h.push_back(sigmoid(sum));
    }
    return h;
  }
  std::vector<float> down(const std::vector<float>& h) const {
    std::vector<float> v;
    for (std::size_t i = 0; i < kVisible; ++i) {
      double sum = visible_bias[i];
      for (std::size_t k = 0; k < kHidden; ++k) sum += static_cast<double>(h[k]) * weight[i * kHidden + k];
      v.push_back(sigmoid(sum));
    }
    return v;
  }
};

}  // namespace

TEST_CASE("an rbm's gradient is the mean of its negative phase minus that of its positive phase", "[rbm]") {
  const std::uint64_t steps = GENERATE(1u, 3u);
  LayerHarness harness("rbm: {units: 3, steps: " + std::to_string(steps) + "}", {kVisible},
                       {.rows = kRows, .workers = 2});
  const auto parameters = harness.parameters();
  const auto numbers = [&](std::size_t i) {
    const auto values = harness.values(parameters[i]);
    return std::vector<float>(values.begin(), values.end());
  };
  const Machine machine{numbers(0), numbers(1), numbers(2)};
  std::vector<float> x(kRows * kVisible);
  RandomStream(1, "x").fill_uniform(0, x);
  const std::vector<float> y = harness.forward(x);
  harness.backward(std::vector<float>(kRows * kHidden, 7));  // which it does not listen to

  const RandomStream random(1, "rbm1", 0);
  std::vector<float> weight(kVisible * kHidden), bias(kHidden), visible_bias(kVisible);
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::vector<float> seen(x.begin() + static_cast<std::ptrdiff_t>(row * kVisible),
                                  x.begin() + static_cast<std::ptrdiff_t>((row + 1) * kVisible));
    const std::vector<float> stirred = machine.up(seen);
    std::vector<float> answer = stirred, imagined;
    for (std::uint64_t step = 0; step < steps; ++step) {
      std::vector<float> drawn(kHidden);
      for (std::size_t k = 0; k < kHidden; ++k)
        drawn[k] = random.uniform((row * steps + step) * kHidden + k) < answer[k] ? 1.0f : 0.0f;
      imagined = machine.down(drawn);
      answer = machine.up(imagined);
    }
    for (std::size_t k = 0; k < kHidden; ++k) {
      CHECK(y[row * kHidden + k] == Approx(stirred[k]).epsilon(1e-5));
      bias[k] += (answer[k] - stirred[k]) / kRows;
      for (std::size_t i = 0; i < kVisible; ++i)
        weight[i * kHidden + k] += (imagined[i] * answer[k] - seen[i] * stirred[k]) / kRows;
    }
    for (std::size_t i = 0; i < kVisible; ++i) visible_bias[i] += (imagined[i] - seen[i]) / kRows;
  }
  CHECK(relative_difference(harness.gradient(parameters[0]), weight) < 1e-4);
  CHECK(relative_difference(harness.gradient(parameters[1]), bias) < 1e-4);
  CHECK(relative_difference(harness.gradient(parameters[2]), visible_bias) < 1e-4);
}

TEST_CASE(
    "an rbm that learns by back-propagation, alone and there and back, has the derivatives of its outputs",
    "[rbm]") {
  const std::string layers = GENERATE("rbm: {units: 3, learn: backprop}, dense: 2",
                                      "rbm: {units: 3, learn: backprop}, reconstruct: rbm1",
                                      "rbm: {units: 3, learn: backprop}, rbm: {units: 2, learn: backprop}, "
                                      "reconstruct: rbm2, reconstruct: rbm1");
  check_gradients(layers, {4}, {.rows = 4, .workers = 2});
}

TEST_CASE("a contrast is not disturbed by layers that use the weights as well", "[rbm]") {
  LayerHarness alone("rbm: 3", {4}, {}), both("rbm: 3, reconstruct: rbm1", {4}, {});
  std::vector<float> x(12);
  RandomStream(1, "x").fill_uniform(0, x);
  for (LayerHarness* harness : {&alone, &both}) {
    harness->forward(x);
    harness->backward(std::vector<float>(static_cast<std::size_t>(3 * harness->output().size()), 1));
  }
  for (std::size_t i = 0; i < alone.parameters().size(); ++i)
    CHECK(alone.gradient(alone.parameters()[i]) == both.gradient(both.parameters()[i]));
  CHECK_THROWS_WITH(LayerHarness("rbm: 3, reconstruct: rbm2", {4}, {}), Catch::Contains("no rbm before"));
  CHECK_THROWS_WITH(LayerHarness("rbm: 3, dense: 4, reconstruct: rbm1", {4}, {}), Catch::Contains("3 units"));
}

}  // namespace trainer
