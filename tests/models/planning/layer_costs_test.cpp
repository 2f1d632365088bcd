#include "models/planning/layer_costs.h"

#include <catch2/catch.hpp>

#include "engine/parallel/planned_ranks.h"
#include "models/network/partition.h"
#include "tests/support/layer_check.h"

namespace trainer {
namespace {

/// The costs of a network that a mesh of `model` ranks shards.
std::vector<LayerCost> costs_of(const std::string& layers, const Shape& sample, int model = 1) {
  const ConfigTree yaml = layer_list(layers);
  PlannedRanks ranks({.model = model});
  ThreadPool pool(1);
  ModelGroup group(pool, ranks.mesh().model());
  const Network network(yaml.root().items("layers"), sample,
                        {.batch = 4, .rewrite = [&](Sequence& sequence) { shard_layers(sequence, group); }});
  return layer_costs(network);
}

std::int64_t sum_of(const std::vector<LayerCost>& costs, std::int64_t ExchangeTraffic::*kind) {
  std::int64_t sum = 0;
  for (const LayerCost& cost : costs)
    for (const ExchangeTraffic& traffic : cost.traffic) sum += traffic.*kind;
  return sum;
}

}  // namespace

TEST_CASE("backward multiplies once in the first layer that learns, twice behind it", "[planning]") {
  const auto costs = costs_of("dense: 5, dense: 3", {4});
  REQUIRE(costs.size() == 2);
  CHECK(costs[0].forward == 2 * 4 * 5);
  CHECK(costs[0].backward == costs[0].forward);
  CHECK(costs[1].forward == 2 * 5 * 3);
  CHECK(costs[1].backward == 2 * costs[1].forward);
  CHECK(operations_of(costs) == 2 * 40 + 3 * 30);
}

TEST_CASE("a layer before the first one that learns has no backward", "[planning]") {
  const auto costs = costs_of("dense: {units: 5, frozen: true}, dense: 3", {4});
  REQUIRE(costs.size() == 2);
  CHECK(costs[0].backward == 0);
  CHECK(costs[1].backward == costs[1].forward);
}

TEST_CASE("a recompute computes forward again in backward, if it has a backward", "[planning]") {
  const auto costs = costs_of("dense: 5, residual: [recompute: [dense: 5]]", {4});
  REQUIRE(costs.size() == 2);
  CHECK(costs[1].backward == 3 * costs[1].forward);
  CHECK(costs_of("recompute: [dense: {units: 5, frozen: true}], dense: 3", {4})[0].backward == 0);
}

TEST_CASE("batch_norm is found inside residual layers, with its sums", "[planning]") {
  const auto costs = costs_of(
      "residual: [conv: {filters: 6, kernel: 3, pad: 1}, batch_norm, conv: {filters: 2, kernel: 1}, "
      "batch_norm]",
      {8, 8, 2});
  REQUIRE(costs.size() == 1);
  CHECK(costs[0].forward_statistics == std::vector<std::int64_t>{12, 4});
  CHECK(costs[0].backward_statistics == std::vector<std::int64_t>{12, 4});
}

TEST_CASE("two dense layers are sharded along outputs, then inputs, and exchange twice", "[planning]") {
  const auto whole = costs_of("dense: 8, dense: 3", {4});
  const auto costs = costs_of("relu, dense: 8, dense: 3", {4}, 2);
  CHECK(operations_of(costs) == operations_of(whole) / 2);
  CHECK(sum_of(costs, &ExchangeTraffic::summed_forward) == 3);
  CHECK(sum_of(costs, &ExchangeTraffic::gathered_forward) == 0);
  // No layer needs the gradient of the input.
  CHECK(sum_of(costs, &ExchangeTraffic::summed_backward) == 0);
  std::vector<std::string> shards;
  std::int64_t parameters = 0;
  for (const LayerCost& cost : costs) {
    if (!cost.shard.empty()) shards.push_back(cost.shard);
    parameters += cost.parameters;
  }
  CHECK(shards == std::vector<std::string>{"4x[0, 4)", "[0, 4)x3"});
  CHECK(parameters == 4 * 8 + 8 + 8 * 3 + 3);
}

TEST_CASE("a transformer's block inside residuals is sharded, and sums twice in each direction",
          "[planning]") {
  const std::string layers =
      "layer_norm, residual: [layer_norm, attention: 2], residual: [layer_norm, dense: {expand: 2}, dense: "
      "4]";
  const auto whole = costs_of(layers, {3, 4}), costs = costs_of(layers, {3, 4}, 2);
  REQUIRE(costs.size() == 3);
  CHECK(operations_of(costs) == operations_of(whole) / 2);
  CHECK(costs[1].shard == "4x3x[0, 2), [0, 2)x4");
  CHECK(costs[2].shard == "4x[0, 4), [0, 4)x4");
  CHECK(costs[1].parameters == whole[1].parameters);
  CHECK(costs[2].parameters == whole[2].parameters);
  CHECK(sum_of(costs, &ExchangeTraffic::summed_forward) == 2 * 3 * 4);
  CHECK(sum_of(costs, &ExchangeTraffic::summed_backward) == 2 * 3 * 4);
  CHECK(sum_of(costs, &ExchangeTraffic::gathered_forward) == 0);
}

TEST_CASE("a sharded layer without a partner gathers its outputs and sums the gradient of its input",
          "[planning]") {
  const auto costs = costs_of("conv: {filters: 2, kernel: 1}, dense: 9", {2, 2, 1}, 3);
  CHECK(sum_of(costs, &ExchangeTraffic::gathered_forward) == 9);
  CHECK(sum_of(costs, &ExchangeTraffic::summed_backward) == 2 * 2 * 2);
}

}  // namespace trainer
