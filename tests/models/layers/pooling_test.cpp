#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("pooling passes the gradient check", "[layers]") {
  check_gradients("max_pool: 2", {4, 5, 3});
  check_gradients("max_pool: {size: 3, stride: 2, pad: 1}", {5, 4, 2}, {.rows = 3, .workers = 2});
  check_gradients("avg_pool: {size: 3, stride: 1, pad: 1}", {5, 4, 2});
  check_gradients("avg_pool: {size: [2, 3], pad: 1, include_padding: false}", {5, 4, 2});
  check_gradients("global_avg_pool", {3, 4, 2});
}

TEST_CASE("max_pool gives the same in evaluation as in training", "[layers]") {
  LayerHarness harness("max_pool: {size: 3, stride: 2, pad: 1}", {5, 4, 2}, {});
  std::vector<float> x(3 * 5 * 4 * 2);
  RandomStream(1, "x").fill_uniform(0, x);
  CHECK(harness.forward(x, Mode::evaluation) == harness.forward(x, Mode::training));
}

TEST_CASE("max_pool applies the mask of the relu of a conv before it, with the same bits", "[layers]") {
  const std::string pool = GENERATE("max_pool: 2", "max_pool: {size: 3, stride: 2, pad: 1}", "max_pool: 16");
  const Shape sample{18, 19, 2};
  LayerHarness run_collectively("conv: {filters: 5, kernel: 2, activation: relu}, " + pool, sample, {});
  LayerHarness apart("conv: {filters: 5, kernel: 2}, relu, " + pool, sample, {});
  std::vector<float> x(3 * 18 * 19 * 2), dy(static_cast<std::size_t>(3 * run_collectively.output().size()));
  RandomStream(1, "x").fill_uniform(0, x);
  RandomStream(1, "dy").fill_uniform(0, dy);
  const std::vector<float> y = run_collectively.forward(x);
  CHECK(y == apart.forward(x));
  CHECK((std::ranges::count(y, 0.0f) > 0 || pool == "max_pool: 16"));  // windows without a derivative
  CHECK(run_collectively.backward(dy) == apart.backward(dy));
  for (std::size_t i = 0; i < run_collectively.parameters().size(); ++i)
    CHECK(run_collectively.gradient(run_collectively.parameters()[i]) ==
          apart.gradient(apart.parameters()[i]));
}

TEST_CASE("a NaN in a window comes out of the pool", "[layers]") {
  const auto* const yaml = GENERATE("max_pool: 2", "avg_pool: 2", "global_avg_pool");
  LayerHarness harness(yaml, {2, 2, 1}, {.rows = 1});
  const std::vector<float> x{1, std::numeric_limits<float>::quiet_NaN(), 3, 4};
  CHECK(std::isnan(harness.forward(x)[0]));
}

TEST_CASE("pools that do not fit are errors", "[layers]") {
  const auto build = [](const std::string& yaml, const Shape& sample) { LayerHarness(yaml, sample, {}); };
  CHECK_THROWS_WITH(build("max_pool: 5", {4, 6, 3}),
                    Catch::Contains("max_pool1 does not fit: window 5x5, input 3x4x6"));
  CHECK_THROWS_WITH(build("max_pool: {size: 2, pad: 2}", {4, 4, 3}), Catch::Contains("half the window"));
  CHECK_THROWS_WITH(build("max_pool: 17", {20, 20, 1}), Catch::Contains("256 positions"));
  CHECK_THROWS_WITH(build("global_avg_pool", {4}), Catch::Contains("map"));
  CHECK_THROWS_WITH(layer_list("max_pool: 0"), Catch::Contains("size"));
}

TEST_CASE("l2_pool passes the gradient check, and a window of zeros has no derivative", "[layers]") {
  check_gradients("l2_pool: 2", {4, 5, 2}, {.rows = 3, .workers = 2});
  check_gradients("l2_pool: {size: 3, stride: 2, pad: 1}", {4, 5, 2});
  LayerHarness harness("l2_pool: 2", {2, 2, 1}, {.rows = 1});
  CHECK(harness.forward(std::vector<float>(4)) == std::vector<float>{0});
  CHECK(harness.backward(std::vector<float>{1}) == std::vector<float>(4));
}

}  // namespace
}  // namespace trainer
