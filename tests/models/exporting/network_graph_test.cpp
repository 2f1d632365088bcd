#include <algorithm>
#include <catch2/catch.hpp>

#include "models/exporting/onnx/onnx_writer.h"
#include "tests/models/exporting/exported_layers.h"

namespace trainer {
namespace {

const GraphTensor* find(const Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.tensors, name, &GraphTensor::name);
  return found == graph.tensors.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("constants of a graph have the names, shapes and order of a checkpoint's tensors", "[exporting]") {
  ExportedLayers layers({"conv: {filters: 3, kernel: 2}, batch_norm, dense: 4", {3, 3, 2}});
  const GraphTensor* const weight = find(layers.graph, "conv1.weight");
  REQUIRE(weight);
  CHECK(weight->extents == Extents{3, 2, 2, 2});
  // Of memory (kernel h, kernel w, in, out).
  const std::span<float> memory = layers.harness.values(layers.harness.parameters()[0]);
  CHECK(weight->values[1] == memory[6]);
  CHECK(weight->values[8] == memory[1]);
  CHECK(find(layers.graph, "batch_norm1.running_var"));
  REQUIRE(find(layers.graph, "dense1.weight"));
  CHECK(find(layers.graph, "dense1.weight")->extents == Extents{4, 12});
}

TEST_CASE("a layer without operations is named, and so is one that padding changes", "[exporting]") {
  // The harness puts a layer of its own in front, which has none.
  LayerHarness harness("dense: 3", {2}, {});
  CHECK_THROWS_WITH(network_graph(harness.network(), harness.all_values(), harness.network().states(), {}),
                    Catch::Contains("probe1 cannot be exported"));
  const GraphEnds padded{.has_padding = true};
  CHECK_THROWS_WITH(ExportedLayers({"tanh, lstm: {units: 2, output: last}", {3, 2}}, padded),
                    Catch::Contains("lstm1 cannot be exported") && Catch::Contains("several lengths"));
  CHECK_THROWS_WITH(ExportedLayers({"attention: 1", {3, 2}}, padded), Catch::Contains("attention1"));
  CHECK_NOTHROW(ExportedLayers({"attention: {heads: 1, causal: true}, lstm: 2", {3, 2}}, padded));
}

TEST_CASE("ONNX's checker and shape inference accept every layer", "[exporting]") {
  if (onnx_version() == "not built in") {
    CHECK_THROWS_WITH(onnx_file({}, {}), Catch::Contains("built without ONNX"));
    return;
  }
  for (const auto& [name, example] : export_examples()) {
    INFO(example.layers);
    const ExportedLayers layers(example);
    CHECK_NOTHROW(onnx_file(layers.graph, {.name = name, .classes = {"cat", "dog"}}));
  }
}

TEST_CASE("a model that is not right does not pass ONNX's checker", "[exporting]") {
  if (onnx_version() == "not built in") return;
  ExportedLayers layers({"dense: 3, relu", {2}});
  Graph unknown = layers.graph;
  unknown.nodes.back().operation = "Rellu";
  CHECK_THROWS_WITH(onnx_file(unknown, {}), Catch::Contains("Rellu"));
  Graph wrong = layers.graph;
  wrong.at(wrong.output).extents.back() = 4;
  CHECK_THROWS_WITH(onnx_file(wrong, {}), Catch::Contains("checker does not accept"));
}

}  // namespace trainer
