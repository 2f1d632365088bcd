#include <catch2/catch.hpp>

#include "engine/math/gemm.h"
#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("dense passes the gradient check", "[layers]") {
  check_gradients("dense: 4", {6});
  check_gradients("dense: {units: 4, bias: false}", {6}, {.rows = 5, .workers = 2});
  check_gradients("dense: {units: 4, activation: tanh}", {2, 3});
  check_gradients("dense: {units: 3, activation: sigmoid}", {2, 3, 2}, {.rows = 4, .workers = 3});
  check_gradients("dense: {units: 4, activation: relu}, dense: 2", {6});
  check_gradients(
      "dense: {units: 4, activation: tanh, lora: {rank: 2, alpha: 3}}, dense: {units: 3, lora: {}}", {2, 6},
      {.rows = 5, .workers = 2});
}

TEST_CASE("a weight's gradient added over virtual workers part by part has the bits of a whole sum",
          "[layers]") {
  constexpr int kVirtualWorkers = 8;
  constexpr std::int64_t kRows = 19, kWide = 302;
  std::vector<float> x(kRows * kWide), dy(kRows * 7);
  RandomStream(1, "x").fill_uniform(0, x);
  RandomStream(1, "dy").fill_uniform(0, dy);
  const auto make = [&](int workers) {
    return LayerHarness("dense: {units: 310, activation: tanh}, dense: 7", {kWide},
                        {.rows = kRows, .workers = workers, .exact_virtual_workers = kVirtualWorkers});
  };
  const auto run = [&](LayerHarness& harness, int virtual_worker) {
    harness.keep_gradient_of(virtual_worker);
    harness.forward(x);
    harness.backward(dy);
  };
  LayerHarness whole = make(kVirtualWorkers);
  run(whole, -1);
  for (const int workers : {1, 2, 3}) {
    CAPTURE(workers);
    LayerHarness harness = make(workers);
    run(harness, -1);
    for (std::size_t i = 0; i < harness.parameters().size(); ++i)
      CHECK(harness.gradient(harness.parameters()[i]) == whole.gradient(whole.parameters()[i]));
  }
  LayerHarness alone = make(1);
  for (int virtual_worker = 0; virtual_worker < kVirtualWorkers; ++virtual_worker) {
    CAPTURE(virtual_worker);
    run(alone, virtual_worker);
    run(whole, virtual_worker);
    for (std::size_t i = 0; i < alone.parameters().size(); ++i)
      CHECK(alone.kept_gradient(alone.parameters()[i]) == whole.kept_gradient(whole.parameters()[i]));
  }
}

TEST_CASE("where products are chains, a dense layer writes no gradient of a single virtual worker",
          "[layers]") {
  if (!gemm_is_chained()) return;
  LayerHarness harness("dense: 7", {5}, {.rows = 4, .exact_virtual_workers = 4});
  const std::vector<float> x(4 * 5, 1.0f), dy(4 * 7, 1.0f);
  harness.forward(x);
  harness.backward(dy);
  harness.keep_gradient_of(2);  // too late for that backward
  const Parameter& weight = harness.parameters()[0];
  CHECK(harness.gradient(weight) == std::vector<float>(5 * 7, 4.0f));
  CHECK(harness.kept_gradient(weight) == std::vector<float>(5 * 7, 0.0f));
  harness.backward(dy);
  CHECK(harness.kept_gradient(weight) == std::vector<float>(5 * 7, 1.0f));
}

TEST_CASE("a worker without rows leaves zeros as its gradient", "[layers]") {
  check_gradients("dense: 4", {6}, {.rows = 1, .workers = 2});
}

TEST_CASE("dense without units, or with an unknown activation, is an error of its line", "[layers]") {
  CHECK_THROWS_WITH(layer_list("dense: 0"), Catch::Contains("units"));
  CHECK_THROWS_WITH(layer_list("dense: {units: 4, activation: rel}"), Catch::Contains("activation"));
}

}  // namespace
}  // namespace trainer
