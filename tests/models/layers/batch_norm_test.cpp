#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("batch_norm passes the gradient check", "[layers]") {
  check_gradients("batch_norm", {4}, {.rows = 5});
  check_gradients("batch_norm", {2, 3, 3}, {.rows = 4, .workers = 2});
  check_gradients("dense: {units: 4, bias: false}, batch_norm, tanh", {3}, {.rows = 5, .workers = 2});
}

TEST_CASE("batch_norm gives the same on any number of workers, also on one without rows", "[layers]") {
  const std::int64_t rows = 3;
  std::vector<float> x(static_cast<std::size_t>(rows) * 12);
  RandomStream(1, "x").fill_uniform(0, x);
  const auto run = [&](int workers) {
    LayerHarness harness("batch_norm", {2, 3, 2}, {.rows = rows, .workers = workers});
    std::vector<float> result = harness.forward(x);
    const std::vector<float> dx = harness.backward(x);
    result.insert(result.end(), dx.begin(), dx.end());
    for (const State& state : harness.plan().states()) {
      const auto values = harness.values(state);
      result.insert(result.end(), values.begin(), values.end());
    }
    for (const Parameter& parameter : harness.parameters()) {
      const auto gradient = harness.gradient(parameter);
      result.insert(result.end(), gradient.begin(), gradient.end());
    }
    return result;
  };
  const std::vector<float> alone = run(1);
  CHECK(relative_difference(run(2), alone) < 1e-5);
  CHECK(relative_difference(run(4), alone) < 1e-5);
}

TEST_CASE("a large mean costs no digits of the variance", "[layers]") {
  LayerHarness harness("batch_norm", {1}, {.rows = 4});
  for (const Parameter& parameter : harness.parameters()) harness.values(parameter)[0] = parameter.constant;
  const std::vector<float> y = harness.forward(std::vector<float>{4097, 4099, 4097, 4099});
  CHECK(relative_difference(y, std::vector<float>{-1, 1, -1, 1}) < 1e-3);
}

TEST_CASE("evaluation leaves the running statistics as they are", "[layers]") {
  LayerHarness harness("batch_norm", {1}, {.rows = 2});
  harness.forward(std::vector<float>{5, 9}, Mode::evaluation);
  CHECK(harness.values(harness.plan().states()[0])[0] == 0);
  harness.forward(std::vector<float>{5, 9}, Mode::training);
  CHECK(harness.values(harness.plan().states()[0])[0] == Approx(0.7));
}

}  // namespace
}  // namespace trainer
