#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

/// What two steps give: outputs, gradients of the input and of parameters, and states.
std::vector<float> two_steps(const std::string& layers, const Shape& sample,
                             const LayerHarness::Options& options) {
  LayerHarness harness(layers, sample, options);
  std::vector<float> result;
  const auto keep = [&](std::span<const float> values) {
    result.insert(result.end(), values.begin(), values.end());
  };
  for (int step = 0; step < 2; ++step) {
    std::vector<float> x(static_cast<std::size_t>(harness.rows() * sample.size()));
    RandomStream(1, "x", static_cast<std::uint64_t>(step)).fill_uniform(0, x);
    const std::vector<float> y = harness.forward(x);
    keep(y);
    std::vector<float> dy(y.size());
    RandomStream(1, "dy", static_cast<std::uint64_t>(step)).fill_uniform(0, dy);
    keep(harness.backward(dy));
    for (const State& state : harness.plan().states()) keep(harness.values(state));
    for (const Parameter& parameter : harness.parameters()) keep(harness.gradient(parameter));
    // Rows follow those of the step before.
    for (std::int64_t& row : harness.samples()) ++row;
  }
  return result;
}

/// The layers inside a recompute or not.
std::string inside(const std::string& layers) { return "recompute: [" + layers + "]"; }

TEST_CASE("recompute passes the gradient check", "[layers]") {
  check_gradients(inside("dense: 5, tanh"), {4}, {.rows = 3, .workers = 2});
  check_gradients(
      "dense: 4, " + inside("residual: [dense: 4, sigmoid], tanh") + ", " + inside("dense: 3, dropout: 0.3"),
      {3}, {.rows = 5, .workers = 2});
  check_gradients("residual: [recompute: [dense: {units: 4, bias: false}, batch_norm, tanh]]", {4},
                  {.rows = 5, .workers = 2});
  check_gradients(inside("flatten, dense: 4, flatten"), {4});
}

TEST_CASE("recomputed layers give and learn the same bits as those that keep activations", "[layers]") {
  struct Case {
    std::string first, second;
    Shape sample;
  };
  const std::vector<Case> cases{
      {"conv: {filters: 6, kernel: 3, activation: relu}, batch_norm, max_pool: 2",
       "dropout: 0.4, dense: 5",
       {8, 8, 3}},
      {"residual: {body: [conv: {filters: 4, kernel: 3, pad: same}, batch_norm], drop: 0.5}, relu",
       "concat: [[conv: {filters: 3, kernel: 1}, tanh], []], group_norm: 1",
       {4, 4, 4}},
      {"lstm: {units: 5, layers: 2, keep_state: true}",
       "gru: {units: 4, keep_state: true}, layer_norm",
       {6, 3}},
      {"residual: [layer_norm, attention: {heads: 2, causal: true}]",
       "residual: [layer_norm, dense: {units: 16, activation: gelu}, dense: 8]",
       {7, 8}},
      {"residual: [rms_norm, attention: {heads: 4, kv_heads: 2, causal: true, rotary: true}]",
       "residual: [rms_norm, multiply: [[dense: {units: 16, activation: silu}], [dense: 16]], dense: 8]",
       {7, 8}}};
  for (const Case& each : cases)
    for (const LayerHarness::Options& options :
         {LayerHarness::Options{.rows = 6}, LayerHarness::Options{.rows = 6, .workers = 3},
          LayerHarness::Options{.rows = 6, .workers = 2, .exact_virtual_workers = 4}}) {
      INFO(each.first << ", " << options.workers << " workers");
      CHECK(two_steps(inside(each.first) + ", " + inside(each.second), each.sample, options) ==
            two_steps(each.first + ", " + each.second, each.sample, options));
    }
}

TEST_CASE("blocks that are recomputed share the memory of what is inside them", "[layers]") {
  const auto plan_of = [](const std::string& layers) {
    const LayerHarness harness(layers, {32}, {.rows = 16});
    return std::pair(harness.plan().saved_end(), harness.plan().recomputed_end());
  };
  const std::string block = "dense: 64, tanh, dense: 48, sigmoid, dense: 32";
  const auto once = plan_of(inside(block));
  const auto thrice = plan_of(inside(block) + ", " + inside(block) + ", " + inside(block));
  CHECK(once.second >= 16 * (64 + 48 + 32));
  CHECK(thrice.second == once.second);
  // Each block keeps its output.
  CHECK(thrice.first - once.first == 2 * 16 * 32);
  CHECK(plan_of(block + ", " + block).second == 0);
}

TEST_CASE("layers have the same names and initial values inside a recompute", "[layers]") {
  const LayerHarness plain("dense: 3, dense: 4", {2}, {}), other(inside("dense: 3") + ", dense: 4", {2}, {});
  CHECK(std::ranges::equal(plain.parameters(), other.parameters(), {}, &Parameter::name, &Parameter::name));
}

TEST_CASE("a recompute without layers, or inside another one, is an error", "[layers]") {
  CHECK_THROWS_WITH(LayerHarness("recompute: []", {4}, {}), Catch::Contains("no layers"));
  CHECK_THROWS_WITH(LayerHarness(inside("residual: [recompute: [tanh]]"), {4}, {}),
                    Catch::Contains("inside another one saves no memory"));
}

}  // namespace
}  // namespace trainer
