// Layers that compute a sequence position by position give what they give for the whole of it.
#include <catch2/catch.hpp>
#include <set>

#include "engine/math/gemm.h"
#include "tests/models/layers/layer_examples.h"
#include "tests/support/evaluated_layers.h"
#include "tests/support/layer_check.h"

namespace trainer {
namespace {

/// Forms beside those that other tests need.
const std::multimap<std::string, LayerExample> kSequenceExamples{
    {"attention", {"attention: {heads: 2, causal: true, rotary: true}", {37, 8}}},
    {"batch_norm", {"batch_norm", {7, 5}}},
    {"concat", {"concat: [[dense: 3], [], [gru: 4]]", {7, 5}}},
    {"dropout", {"dropout: 0.5", {7, 5}}},
    {"embedding", {"embedding: {units: 6, vocabulary: 7, positions: sinusoidal}", {9}, 7}},
    {"gru", {"gru: {units: 6, layers: 2}", {7, 5}}},
    {"multiply", {"multiply: [[attention: {heads: 4, kv_heads: 1, causal: true}], [gru: 8]]", {37, 8}}},
    {"prelu", {"prelu", {7, 5}}},
    {"recompute", {"recompute: [lstm: 6, attention: {heads: 3, causal: true}]", {7, 5}}},
    {"residual", {"residual: {body: [layer_norm, dense: 5], drop: 0.5}", {7, 5}}},
};

std::vector<float> input_of(const LayerExample& example) {
  std::vector<float> x(static_cast<std::size_t>(example.sample.size()));
  RandomStream(2, "x").fill_uniform(0, x);
  for (float& value : x)
    value =
        example.vocabulary > 0 ? std::floor(value * static_cast<float>(example.vocabulary)) : value - 0.5f;
  return x;
}

/// y of a sequence of which the network gets so many positions at a time.
std::vector<float> stepwise(Network& network, std::span<const float> x, std::int64_t positions,
                            std::int64_t at_once) {
  const std::vector<std::int64_t> samples(static_cast<std::size_t>(at_once));
  const std::size_t size = x.size() / static_cast<std::size_t>(positions);
  std::vector<float> y;
  for (std::int64_t first = 0; first < positions; first += at_once) {
    const std::int64_t rows = std::min(at_once, positions - first);
    const auto count = static_cast<std::size_t>(rows);
    std::ranges::copy(x.subspan(static_cast<std::size_t>(first) * size, count * size),
                      network.input(0, rows).data());
    const ConstTensor some = network.forward(0, {.mode = Mode::evaluation,
                                                 .samples = std::span(samples).first(count),
                                                 .batch_rows = rows,
                                                 .first_position = first});
    y.insert(y.end(), some.data(), some.data() + some.size());
  }
  return y;
}

}  // namespace

TEST_CASE("layers give a sequence the same bits at once and position by position", "[layers]") {
  std::multimap<std::string, LayerExample> examples = kSequenceExamples;
  examples.insert(kLayerExamples.begin(), kLayerExamples.end());
  std::set<std::string> checked;
  for (const auto& [name, example] : examples) {
    const ConfigTree tree = layer_list(example.layers);
    const std::vector<Config> layers = tree.root().items("layers");
    Network whole(layers, example.sample, {});
    if (!whole.layers().is_stepwise()) continue;
    checked.insert(name);
    INFO(example.layers);
    const std::int64_t positions = example.sample[0];
    std::vector<std::int64_t> one(example.sample.extents().begin(), example.sample.extents().end());
    one[0] = 1;
    const std::vector<float> x = input_of(example);
    const RandomValues values(whole);
    constexpr std::int64_t kSample = 0;
    std::ranges::copy(x, whole.input(0, 1).data());
    const ConstTensor y =
        whole.forward(0, {.mode = Mode::evaluation, .samples = std::span(&kSample, 1), .batch_rows = 1});
    for (const std::int64_t at_once : {std::int64_t{1}, std::int64_t{3}, positions}) {
      INFO(at_once);
      Network parts(layers, Shape(one), {.batch = at_once, .positions = positions});
      REQUIRE(parts.plan().parameter_end() == whole.plan().parameter_end());
      const RandomValues same(parts);
      const std::vector<float> again = stepwise(parts, x, positions, at_once);
      if (gemm_is_chained())
        CHECK(again == std::vector<float>(y.span().begin(), y.span().end()));
      else
        CHECK(relative_difference(again, y.span()) < 1e-5);
      // Position 0 begins another sequence.
      CHECK(stepwise(parts, x, positions, at_once) == again);
    }
  }
  CHECK(checked == std::set<std::string>{"attention", "batch_norm", "concat", "dense", "dropout", "embedding",
                                         "gru", "layer_norm", "lstm", "multiply", "positions", "prelu",
                                         "recompute", "residual", "rms_norm", "rnn"});
}

}  // namespace trainer
