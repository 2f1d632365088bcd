#include <catch2/catch.hpp>

#include "tests/models/layers/layer_examples.h"
#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("layers compute nearly the same with activations stored as bfloat16", "[layers]") {
  for (const auto& [name, example] : kLayerExamples)
    check_stored_activations(example.layers, example.sample, example.vocabulary);
}

TEST_CASE("layers that overwrite, nest or reshape stored activations compute nearly the same", "[layers]") {
  check_stored_activations("dense: 12, batch_norm, relu, dense: 9, sigmoid, tanh, dense: 4", {10});
  check_stored_activations(
      "conv: {filters: 6, kernel: 3, pad: same, activation: relu}, "
      "residual: [conv: {filters: 6, kernel: 3, pad: same, bias: false}, batch_norm, relu, "
      "conv: {filters: 6, kernel: 3, pad: same, activation: sigmoid}], max_pool: 2, flatten, dense: 7, tanh, "
      "dense: 3",
      {6, 6, 2});
  check_stored_activations(
      "residual: [layer_norm, attention: {heads: 2, causal: true}], "
      "recompute: [residual: [layer_norm, dense: {units: 12, activation: gelu}, dense: 8]], dense: 5",
      {7, 8});
  check_stored_activations("lstm: {units: 5, layers: 2}, dense: 4, gru: {units: 3, output: last}, dense: 6",
                           {6, 3});
}

TEST_CASE("stored activations take half the memory, and those of a recompute stay", "[layers]") {
  const auto saved = [](const std::string& layers, bool stores_bfloat16) {
    return LayerHarness(layers, {32},
                        {.rows = 16, .stores_bfloat16 = stores_bfloat16, .input_gradient = false})
        .plan()
        .saved_end();
  };
  const std::int64_t ends = 16 * (32 + 64);  // the network's input and output
  const std::string layers = "dense: {units: 128, activation: gelu}, dense: 96, tanh, dense: 64";
  CHECK(saved(layers, false) == ends + 16 * (2 * 128 + 96));  // tanh writes over its input
  CHECK(saved(layers, true) == ends + 16 * (2 * 128 + 96) / 2);
  const std::string inside = "recompute: [" + layers + "]";
  CHECK(saved(inside, true) == saved(inside, false));
}

}  // namespace
}  // namespace trainer
