#include <catch2/catch.hpp>
#include <limits>

#include "models/exporting/c/buffers.h"
#include "models/exporting/c/c_writer.h"
#include "tests/models/exporting/compiled_models.h"
#include "tests/models/exporting/exported_layers.h"
#include "tests/support/layer_check.h"

namespace trainer {
namespace {

std::size_t unsigned_size(const Shape& sample) { return static_cast<std::size_t>(sample.size()); }

}  // namespace

TEST_CASE("the C file of every layer computes what its forward computes in evaluation", "[exporting]") {
  std::vector<std::string> files;
  std::vector<std::unique_ptr<ExportedLayers>> all;
  for (const auto& [name, example] : export_examples()) {
    INFO(example.layers);
    all.push_back(std::make_unique<ExportedLayers>(example));
    files.push_back(c_file(all.back()->graph, {.name = name}));
  }
  const CompiledModels compiled(files);
  auto example = export_examples().begin();
  for (std::size_t i = 0; i < all.size(); ++i, ++example) {
    INFO(example->second.layers);
    const ExportedLayers& layers = *all[i];
    const std::vector<float> y = compiled.predict(i, layers.x, unsigned_size(layers.harness.input()),
                                                  unsigned_size(layers.harness.output()));
    CHECK(relative_difference(y, layers.y) < 5e-6);
  }
}

TEST_CASE("inputs are normalised and outputs become predictions inside an exported model", "[exporting]") {
  const LayerExample example{"conv: {filters: 3, kernel: 1}", {2, 3, 2}};
  ExportedLayers plain(example);
  // Pixels (h, w, c) of one sample; the harness has two.
  std::vector<float> x, normalised;
  for (int i = 0; i < 12; ++i) {
    x.push_back(static_cast<float>(i) / 4);
    normalised.push_back(i % 2 == 0 ? 0.5f * x.back() + 0.25f : 2 * x.back() - 1);
  }
  normalised.resize(24);
  std::vector<float> outputs = plain.harness.forward(normalised, Mode::evaluation);
  outputs.resize(18);
  for (const Link link : {Link::identity, Link::softmax, Link::sigmoid}) {
    const ExportedLayers whole(example, {.scale = {0.5f, 2}, .shift = {0.25f, -1}, .link = link});
    std::vector<float> expected;
    for (std::size_t position = 0; position < 6; ++position) {
      const RowPredictions row(link, std::span<const float>(outputs).subspan(position * 3, 3));
      for (std::size_t k = 0; k < 3; ++k) expected.push_back(static_cast<float>(row[k]));
    }
    const CompiledModels compiled({c_file(whole.graph, {.name = "it"})});
    const std::vector<float> y = compiled.predict(0, to_channels_first(x, example.sample), 12, 18);
    CHECK(relative_difference(y, to_channels_first(expected, {2, 3, 3})) < 1e-6);
  }
}

TEST_CASE("outputs of several positions can be one answer of an exported model", "[exporting]") {
  const LayerExample example =
      GENERATE(LayerExample{"dense: 1", {10, 3}}, LayerExample{"conv: {filters: 2, kernel: 1}", {2, 3, 2}});
  ExportedLayers plain(example);
  const std::int64_t inputs = example.sample.size(), count = plain.harness.output().size();
  std::vector<float> x(static_cast<std::size_t>(2 * inputs));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 11) / 4;
  std::vector<float> outputs = plain.harness.forward(x, Mode::evaluation);
  outputs.resize(static_cast<std::size_t>(count));
  x.resize(static_cast<std::size_t>(inputs));
  const RowPredictions row(Link::softmax, outputs);
  std::vector<float> expected;
  for (std::size_t k = 0; k < outputs.size(); ++k) expected.push_back(static_cast<float>(row[k]));
  const ExportedLayers whole(example, {.link = Link::softmax, .is_one_answer = true});
  const CompiledModels compiled({c_file(whole.graph, {.name = "it"})});
  const std::vector<float> y = compiled.predict(0, to_channels_first(x, example.sample), inputs, count);
  CHECK(relative_difference(y, expected) < 1e-6);
}

TEST_CASE("names of a user do not leave the comments and strings of a C file", "[exporting]") {
  const ExportedLayers layers({"dense: {units: 2, name: 'a b*/'}, dense: {units: 2, name: 'a-b*/'}", {3}});
  const ModelNotes notes{.name = "*/ #error", .input = "\"x\" \\ ?\?/", .classes = {"\"cat\"\n", "dog*/"}};
  CHECK_NOTHROW(CompiledModels({c_file(layers.graph, notes)}));
}

TEST_CASE("weights that are not finite are not exported to C", "[exporting]") {
  ExportedLayers layers({"dense: 2", {3}});
  for (GraphTensor& tensor : layers.graph.tensors)
    if (tensor.name == "dense1.weight") tensor.values[1] = std::numeric_limits<float>::infinity();
  CHECK_THROWS_WITH(c_file(layers.graph, {}), Catch::Contains("not finite"));
}

TEST_CASE("a buffer lies over those that are free, and over no other", "[exporting]") {
  Buffers buffers;
  CHECK(buffers.take(10) == 0);
  CHECK(buffers.take(5) == 10);
  CHECK(buffers.take(7) == 15);
  buffers.free(10);
  CHECK(buffers.take(6) == 22);
  CHECK(buffers.take(4) == 10);
  buffers.free(0);
  CHECK(buffers.take(10) == 0);
  CHECK(buffers.end() == 28);
}

}  // namespace trainer
