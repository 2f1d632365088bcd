// Runs exported convolutional networks in OpenCV's DNN module, which reads ONNX by itself.
#include <catch2/catch.hpp>
#include <opencv2/dnn.hpp>

#include "models/exporting/onnx/onnx_writer.h"
#include "tests/models/exporting/exported_layers.h"
#include "tests/support/layer_check.h"
#include "tests/support/skip.h"

namespace trainer {
namespace {

const std::map<std::string, LayerExample> kNetworks{
    {"convnet",
     {"conv: {filters: 6, kernel: 5, activation: relu}, max_pool: 2, conv: {filters: 4, kernel: 3, pad: 1}, "
      "avg_pool: 2, dense: {units: 12, activation: tanh}, dropout: 0.5, dense: 7, softmax",
      {20, 16, 1}}},
    {"residual network",
     {"conv: {filters: 4, kernel: 3, pad: same, bias: false}, batch_norm, relu, "
      "residual: {body: [conv: {filters: 8, kernel: 3, stride: 2, pad: 1}, batch_norm, relu, "
      "conv: {filters: 8, kernel: 3, pad: 1}, batch_norm], shortcut: conv}, relu, "
      "residual: {body: [conv: {filters: 8, kernel: 1}], shortcut: identity}, global_avg_pool, dense: 5",
      {8, 8, 3}}},
    {"shortcut with zeros",
     {"residual: {body: [conv: {filters: 8, kernel: 3, stride: 2, pad: 1}], shortcut: pad}", {8, 8, 4}}},
    {"inverted bottleneck",
     {"conv: {filters: 12, kernel: 1, activation: relu6}, conv: {filters: 12, kernel: 3, groups: 12, pad: 1, "
      "stride: 2}, batch_norm, relu6, conv: {filters: 5, kernel: 1}, global_avg_pool, dense: 3",
      {9, 9, 4}}},
    {"encoder and decoder",
     {"concat: [[max_pool: 2, conv: {filters: 4, kernel: 3, pad: same, activation: relu}, upsample: 2], []], "
      "conv: {filters: 3, kernel: 1}, conv_transpose: {filters: 2, kernel: 2, stride: 2}, sigmoid",
      {6, 8, 2}}},
    {"activations", {"leaky_relu: 0.2, elu: 1, tanh, prelu, gelu, silu, hardswish", {4, 5, 3}}},
    {"perceptron", {"dense: {units: 9, activation: relu}, batch_norm, dense: 4", {6}}},
};

}  // namespace

TEST_CASE("convolutional networks compute the same in OpenCV", "[opencv]") {
  if (onnx_version() == "not built in") skip_test("built without ONNX");
  for (const auto& [name, example] : kNetworks) {
    INFO(name);
    const ExportedLayers layers(example,
                                {.scale = std::vector<float>(example.sample[example.sample.rank() - 1], 1),
                                 .shift = std::vector<float>(example.sample[example.sample.rank() - 1], 0)});
    const std::string model = onnx_file(layers.graph, {.name = name});
    cv::dnn::Net net = cv::dnn::readNetFromONNX(model.data(), model.size());
    Extents extents = layers.graph.extents(layers.graph.input);
    extents[0] = 1;
    const std::vector<int> sizes(extents.begin(), extents.end());
    const std::size_t inputs = layers.x.size() / ExportedLayers::kRows;
    std::vector<float> y;
    for (std::size_t row = 0; row < ExportedLayers::kRows; ++row) {
      std::vector<float> x(layers.x.begin() + static_cast<std::ptrdiff_t>(row * inputs),
                           layers.x.begin() + static_cast<std::ptrdiff_t>((row + 1) * inputs));
      net.setInput(cv::Mat(sizes, CV_32F, x.data()));
      const cv::Mat output = net.forward().clone();
      y.insert(y.end(), output.begin<float>(), output.end<float>());
    }
    CHECK(relative_difference(y, layers.y) < 1e-4);
  }
}

}  // namespace trainer
