#include "tests/models/exporting/exported_layers.h"

#include <cmath>

#include "engine/core/random.h"

namespace trainer {
namespace {

/// Numbers in [-1, 1), or ids of tokens.
std::vector<float> random_input(std::int64_t count, int vocabulary) {
  const RandomStream stream(5, "export");
  std::vector<float> values;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
    const float uniform = stream.uniform(i);
    values.push_back(vocabulary > 0 ? std::floor(uniform * static_cast<float>(vocabulary)) : 2 * uniform - 1);
  }
  return values;
}

std::multimap<std::string, LayerExample> all_examples() {
  std::multimap<std::string, LayerExample> examples = kLayerExamples;
  const std::multimap<std::string, LayerExample> more{
      {"adaptive_avg_pool", {"adaptive_avg_pool: [2, 3]", {4, 6, 3}}},
      {"attention", {"attention: {heads: 2}", {5, 6}}},
      {"attention", {"attention: {heads: 3, rotary: true, causal: true}", {7, 12}}},
      {"attention", {"attention: {heads: 6, kv_heads: 2, rotary: true}", {7, 12}}},
      {"avg_pool", {"avg_pool: {size: 3, stride: 2, pad: 1, include_padding: false}", {7, 6, 3}}},
      {"batch_norm", {"batch_norm", {5, 6}}},
      {"batch_norm", {"batch_norm", {2, 3, 4, 5}}},
      {"batch_norm", {"batch_norm", {3, 4, 5, 3}}},
      {"concat", {"concat: [[dense: 3], []]", {4, 5}}},
      {"concat", {"concat: [[relu], []]", {4, 5, 2}}},
      {"conv",
       {"conv: {filters: 4, kernel: [3, 2], stride: [2, 1], pad: [0, 1], dilation: [1, 2]}", {9, 8, 3}}},
      {"conv", {"conv: {filters: 4, kernel: 3, bias: false, activation: silu}", {6, 6, 2}}},
      {"conv1d", {"conv1d: {filters: 6, kernel: 3, stride: 2, dilation: 2, groups: 2, pad: 1}", {12, 4}}},
      {"conv_transpose",
       {"conv_transpose: {filters: 6, kernel: [3, 2], stride: 2, pad: 1, extra: 1, groups: 2}", {5, 4, 8}}},
      {"conv_transpose", {"conv_transpose: {filters: 3, kernel: 2, dilation: 2, bias: false}", {3, 4, 2}}},
      {"dense", {"dense: {units: 6, name: a}, dense: {units: 5, name: b}, dense: {units: 6, tie: b}", {5}}},
      {"dense", {"dense: {units: 9, activation: gelu}, dense: {units: 4, activation: elu}", {2, 3, 4}}},
      {"embedding", {"embedding: {units: 6, vocabulary: 5, positions: sinusoidal}", {7}, 5}},
      {"flatten", {"flatten", {4, 3}}},
      {"group_norm", {"group_norm: 3", {5, 6}}},
      {"group_norm", {"group_norm: 2", {6}}},
      {"group_norm", {"group_norm: 3", {3, 4, 5, 6}}},
      {"gru", {"gru: {units: 4, output: last, bias: false}", {6, 5}}},
      {"layer_norm", {"layer_norm: {bias: false}", {3, 4, 5}}},
      {"layer_norm", {"layer_norm", {9}}},
      {"local_contrast_norm", {"local_contrast_norm: 5", {4, 7, 2}}},
      {"local_response_norm", {"local_response_norm: {size: 4, alpha: 0.5, beta: 0.6, k: 2}", {3, 5, 7}}},
      {"local_response_norm", {"local_response_norm: 3", {4, 6}}},
      {"local_response_norm", {"local_response_norm: 3", {2, 3, 4, 5}}},
      {"lstm", {"lstm: {units: 4, bidirectional: true, output: last}", {6, 5}}},
      {"permute", {"permute: [3, 1, 2]", {2, 3, 4}}},
      {"permute", {"permute: [2, 1, 3, 4]", {2, 4, 3, 5}}},
      {"prelu", {"prelu", {6, 5}}},
      {"rbm", {"rbm: 7", {3, 2, 4}}},
      {"reshape", {"reshape: [6, 4]", {2, 3, 4}}},
      {"residual",
       {"residual: {body: [conv: {filters: 5, kernel: 1}], shortcut: [conv: {filters: 5, kernel: 1}, tanh]}",
        {3, 3, 2}}},
      {"rms_norm", {"rms_norm: 0.01", {3, 4, 5}}},
      {"multiply", {"multiply: [[], [conv: {filters: 2, kernel: 1}], [sigmoid]]", {4, 5, 2}}},
      {"rnn", {"rnn: {units: 5, layers: 2, bidirectional: true, activation: relu}", {4, 3}}},
      {"rnn", {"rnn: {units: 5, activation: sigmoid, output: last}", {4, 3}}},
      {"softmax", {"softmax", {4, 5}}},
      {"upsample", {"upsample: [2, 3]", {4, 3, 2}}},
      {"upsample", {"upsample: {factor: [3, 2], mode: bilinear}", {1, 4, 2}}},
  };
  examples.insert(more.begin(), more.end());
  return examples;
}

}  // namespace

const std::multimap<std::string, LayerExample>& export_examples() {
  static const std::multimap<std::string, LayerExample> examples = all_examples();
  return examples;
}

std::vector<float> to_channels_first(const std::vector<float>& samples, const Shape& sample) {
  if (sample.rank() != 3) return samples;
  const std::int64_t channels = sample[2], positions = sample[0] * sample[1];
  std::vector<float> result(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i), within = at % (channels * positions);
    result[static_cast<std::size_t>(at - within + within % channels * positions + within / channels)] =
        samples[i];
  }
  return result;
}

ExportedLayers::ExportedLayers(const LayerExample& example, const GraphEnds& ends)
    : harness(example.layers, example.sample, {.rows = kRows, .input_gradient = false}) {
  const RandomStream stream(9, "states");
  for (const State& state : harness.plan().states())
    if (state.use == StateUse::model)
      for (std::uint64_t i = 0; float& value : harness.values(state)) value = stream.uniform(i++) + 0.5f;
  const std::vector<float> input = random_input(kRows * example.sample.size(), example.vocabulary);
  x = to_channels_first(input, example.sample);
  y = to_channels_first(harness.forward(input, Mode::evaluation), harness.output());
  graph = network_graph(harness.network(), harness.all_values(), harness.network().states(), ends);
}

}  // namespace trainer
