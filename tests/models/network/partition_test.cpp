#include "models/network/partition.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "models/network/network.h"
#include "models/network/shard.h"
#include "tests/support/layer_check.h"
#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

constexpr std::int64_t kRows = 3;
constexpr float kTokens = 40;

/// A network of layers in YAML, partitioned over a group of ranks; each parameter has the same values
/// wherever it lies.
class Built {
 public:
  Built(const std::string& layers, const Shape& sample, Communicator& ranks, bool exact = false)
      : tree_(layer_list(layers)),
        pool_(1, true),
        group_(pool_, ranks, exact),
        network_(tree_.root().items("layers"), sample,
                 {.batch = kRows, .rewrite = [&](Sequence& sequence) { shard_layers(sequence, group_); }}),
        values_(network_.plan().parameter_end()),
        gradients_(network_.plan().parameter_end()) {
    for (const Parameter& parameter : plan().parameters()) {
      std::vector<float> whole(static_cast<std::size_t>(parameter.whole_shape().size()));
      RandomStream(1, parameter.name).fill_uniform(0, whole);
      for (float& value : whole) value -= 0.5f;
      take_shard(parameter, whole, part(values_, parameter));
    }
    network_.attach(values_.floats(), {{gradients_.floats()}, sum_});
  }

  const NetworkPlan& plan() const { return network_.plan(); }

  /// The output, after forward and backward.
  std::vector<float> run() {
    const std::vector<std::int64_t> samples(kRows);
    const std::span<float> x = network_.input(0, kRows).span();
    RandomStream(1, "x").fill_uniform(0, x);
    if (network_.layers().entries().front().type == "embedding")
      for (float& value : x) value = std::floor(kTokens * value);
    const ConstTensor y = network_.forward(0, {.samples = samples, .batch_rows = kRows});
    std::vector<float> result(y.span().begin(), y.span().end());
    RandomStream(1, "dy").fill_uniform(0, network_.output_gradient(0).span());
    network_.backward(0, nullptr);
    return result;
  }
  std::span<const float> gradient(const Parameter& parameter) { return part(gradients_, parameter); }
  /// The parameter of that name; its shard may be empty.
  const Parameter& parameter(const std::string& name) const {
    const auto found = std::ranges::find(plan().parameters(), name, &Parameter::name);
    REQUIRE(found != plan().parameters().end());
    return *found;
  }

 private:
  struct NoSum final : StatisticsReducer {
    void sum(int, std::span<const double>, std::span<double>) override {}
  };
  static std::span<float> part(Arena& flat, const Parameter& parameter) {
    return flat.floats().subspan(static_cast<std::size_t>(parameter.offset),
                                 static_cast<std::size_t>(parameter.shape.size()));
  }

  ConfigTree tree_;
  ThreadPool pool_;
  ModelGroup group_;
  Network network_;
  Arena values_, gradients_;
  NoSum sum_;
};

struct Example {
  std::string layers;
  Shape sample;
};

Example example() {
  return GENERATE(
      Example{"dense: {units: 7, activation: tanh}", {5}},
      Example{"layer_norm, dense: {units: 7, activation: gelu}, dense: {units: 4, activation: tanh}", {5}},
      Example{"layer_norm, dense: {units: 40, bias: false}, relu, dense: {units: 6, bias: false}", {3, 6}},
      Example{"layer_norm, attention: {heads: 4, causal: true}", {6, 8}},
      Example{"layer_norm, attention: {heads: 3, rotary: true, bias: false}", {6, 12}},
      Example{"layer_norm, attention: {heads: 6, kv_heads: 3, rotary: true, causal: true}", {6, 12}},
      Example{
          "dense: 6, residual: [rms_norm, multiply: [[dense: {units: 40, activation: silu, bias: false}], "
          "[dense: 40]], dense: 6], dense: 5",
          {3, 6}},
      // Weights before the block get their gradients through it.
      Example{"layer_norm, residual: [layer_norm, attention: {heads: 4, causal: true}], "
              "residual: [layer_norm, dense: {expand: 4, activation: gelu}, dense: 8], dense: 5",
              {6, 8}},
      Example{"layer_norm, residual: {body: [residual: [dense: 20, relu, dense: 8], dense: 3], "
              "shortcut: [dense: 3]}",
              {6, 8}},
      Example{"embedding: {units: 6, vocabulary: 40, positions: learned, name: tokens}, layer_norm, "
              "dense: {units: 40, activation: tanh, tie: tokens}",
              {5}},
      Example{"embedding: {units: 8, vocabulary: 40, positions: sinusoidal}, dropout: 0, residual: "
              "[layer_norm, attention: 2], dense: 40",
              {5}});
}

/// How many of the whole parameter's elements this rank holds, in ranks' shares.
double share(const Parameter& parameter) {
  return static_cast<double>(parameter.shape.size()) / static_cast<double>(parameter.whole_shape().size());
}

}  // namespace

TEST_CASE("a partitioned network has the outputs and gradients of the whole one", "[network]") {
  const Example of = example();
  INFO(of.layers);
  const auto alone = solo();
  Built whole(of.layers, of.sample, *alone), parts(of.layers, of.sample, test_world());
  CHECK(relative_difference(parts.run(), whole.run()) < 1e-5);
  REQUIRE(parts.plan().parameters().size() == whole.plan().parameters().size());
  for (const Parameter& parameter : parts.plan().parameters()) {
    INFO(parameter.name);
    const Parameter& original = whole.parameter(parameter.name);
    CHECK(parameter.whole_shape() == original.shape);
    CHECK(parameter.fan_in == original.fan_in);
    CHECK(parameter.fan_out == original.fan_out);
    std::vector<float> expected(static_cast<std::size_t>(parameter.shape.size()));
    take_shard(parameter, whole.gradient(original), expected);
    CHECK(relative_difference(parts.gradient(parameter), expected) < 1e-5);
  }
}

TEST_CASE("in exact mode a partitioned network has the bits of a group of one rank", "[network]") {
  const Example of = example();
  INFO(of.layers);
  const auto alone = solo();
  Built whole(of.layers, of.sample, *alone, true), parts(of.layers, of.sample, test_world(), true);
  CHECK(parts.run() == whole.run());
  for (const Parameter& parameter : parts.plan().parameters()) {
    INFO(parameter.name);
    std::vector<float> expected(static_cast<std::size_t>(parameter.shape.size()));
    take_shard(parameter, whole.gradient(whole.parameter(parameter.name)), expected);
    CHECK(std::ranges::equal(parts.gradient(parameter), expected));
  }
}

TEST_CASE("each rank holds its share of the weights of a transformer", "[network][ranks divide 4]") {
  const bool exact = GENERATE(false, true);
  Built parts(
      "embedding: {units: 16, vocabulary: 64, name: tokens}, residual: [layer_norm, attention: 4], residual: "
      "[layer_norm, dense: {expand: 4}, dense: 16], layer_norm, dense: {units: 64, tie: tokens}",
      {6}, test_world(), exact);
  const double expected = 1.0 / test_world().size();
  for (const Parameter& parameter : parts.plan().parameters())
    if (parameter.is_weight) CHECK(share(parameter) == expected);
  CHECK(share(parts.parameter("attention1.in_proj_bias")) == expected);
  CHECK(share(parts.parameter("dense1.bias")) == expected);
  // They are added to sums over all ranks.
  CHECK(share(parts.parameter("attention1.out_proj.bias")) == 1);
  CHECK(share(parts.parameter("dense2.bias")) == 1);
}

TEST_CASE("each rank holds its share of grouped heads and of a gated unit", "[network][ranks divide 4]") {
  Built parts(
      "residual: [rms_norm, attention: {heads: 8, kv_heads: 4}], residual: [rms_norm, "
      "multiply: [[dense: {units: 64, activation: silu}], [dense: 64]], dense: 16]",
      {6, 16}, test_world());
  for (const Parameter& parameter : parts.plan().parameters())
    if (parameter.is_weight) CHECK(share(parameter) == 1.0 / test_world().size());
}

TEST_CASE("layers that cannot be divided, or would keep others from splitting rows, stay whole",
          "[network]") {
  const Example of = GENERATE(
      Example{"residual: [dense: {units: 8, name: first}], dense: {units: 8, tie: first}", {6, 8}},
      Example{"residual: [dense: 8], dense: {units: 8, tie: dense1}", {6, 8}},
      Example{"dense: {expand: 2}, dropout: 0.1", {6, 8}},
      Example{"recompute: [attention: 2, dense: 8]", {6, 8}},
      Example{"concat: [[dense: 8], [dense: 3]]", {6, 8}},
      Example{"multiply: [[dense: 8], [dense: 8]]", {6, 8}},
      Example{"multiply: [[dense: 8, tanh], [dense: 8]], dropout: 0.1", {6, 8}},
      Example{"embedding: {units: 8, vocabulary: 40}, lstm: 8", {6}},
      Example{
          "embedding: {units: 8, vocabulary: 40, name: tokens}, recompute: [dense: {units: 40, tie: tokens}]",
          {6}},
      Example{"embedding: {units: 8, vocabulary: 40}, dense: {units: 40, tie: embedding1}", {6}});
  INFO(of.layers);
  Built parts(of.layers, of.sample, test_world());
  for (const Parameter& parameter : parts.plan().parameters()) CHECK(share(parameter) == 1);
}

}  // namespace trainer
