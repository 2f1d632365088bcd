#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("conv passes the gradient check", "[layers]") {
  check_gradients("conv: {filters: 3, kernel: 3}", {5, 4, 2});
  check_gradients("conv: {filters: 4, kernel: [2, 3], stride: [2, 1], pad: 1, bias: false}", {5, 4, 2},
                  {.rows = 3, .workers = 2});
  check_gradients("conv: {filters: 4, kernel: 3, dilation: 2, groups: 2, pad: same, activation: tanh}",
                  {5, 5, 4}, {.rows = 2});
}

TEST_CASE("a worker without images leaves zeros as its gradient", "[layers]") {
  check_gradients("conv: {filters: 3, kernel: 3}", {4, 4, 2}, {.rows = 1, .workers = 2});
}

TEST_CASE("a convolution that does not fit is an error with its name, kernel and input", "[layers]") {
  const auto build = [](const std::string& yaml, const Shape& sample) { LayerHarness(yaml, sample, {}); };
  CHECK_THROWS_WITH(build("relu, conv: {filters: 4, kernel: 7}", {4, 6, 32}),
                    Catch::Contains("conv1 does not fit: kernel 7x7, input 32x4x6"));
  CHECK_THROWS_WITH(build("conv: {filters: 4, kernel: 3}", {10}),
                    Catch::Contains("conv1 does not fit") && Catch::Contains("map"));
  CHECK_THROWS_WITH(build("conv: {filters: 4, kernel: 1, groups: 2}", {4, 4, 3}),
                    Catch::Contains("2 groups do not divide the channels"));
  CHECK_THROWS_WITH(build("conv: {filters: 3, kernel: 1, groups: 2}", {4, 4, 4}),
                    Catch::Contains("2 groups do not divide 3 filters"));
  CHECK_THROWS_WITH(build("conv: {filters: 4, kernel: 2, pad: same}", {4, 4, 3}),
                    Catch::Contains("odd kernel"));
}

TEST_CASE("the error of a layer that does not fit shows the way to it", "[layers]") {
  try {
    const LayerHarness harness("conv: {filters: 8, kernel: 3}, max_pool: 2, conv: {filters: 4, kernel: 7}",
                               {10, 10, 1}, {});
    FAIL("the layer fits");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK_THAT(error.diagnostics().at(0).text(), Catch::Contains("conv1 8x8x8 > max_pool1 8x4x4 > conv2"));
  }
}

TEST_CASE("filters, kernel and stride of 0 are errors of the file", "[layers]") {
  CHECK_THROWS_WITH(layer_list("conv: {filters: 0, kernel: 3}"), Catch::Contains("filters"));
  CHECK_THROWS_WITH(layer_list("conv: {filters: 4, kernel: 0}"), Catch::Contains("kernel"));
  CHECK_THROWS_WITH(layer_list("conv: {filters: 4, kernel: [3, 0]}"), Catch::Contains("kernel"));
  CHECK_THROWS_WITH(layer_list("conv: {filters: 4, kernel: 3, stride: 0}"), Catch::Contains("stride"));
}

TEST_CASE("operations are counted as two for each multiply-add", "[layers]") {
  const ConfigTree tree = layer_list("conv: {filters: 8, kernel: 5}, max_pool: 2, dense: 10");
  const Network network(tree.root().items("layers"), {28, 28, 1}, {});
  CHECK(network.layers().flops() == 2 * (24 * 24 * 8 * 25 + 12 * 12 * 8 * 10));
}

TEST_CASE("conv1d passes the gradient check and expects a sequence", "[layers]") {
  check_gradients("conv1d: {filters: 4, kernel: 3, pad: same, dilation: 2}", {6, 3},
                  {.rows = 3, .workers = 2});
  check_gradients("conv1d: {filters: 2, kernel: 2, stride: 2, groups: 2, activation: tanh}", {5, 4});
  CHECK_THROWS_WITH(LayerHarness("conv1d: {filters: 2, kernel: 2}", {5, 5, 1}, {}),
                    Catch::Contains("sequence"));
}

TEST_CASE("conv_transpose passes the gradient check", "[layers]") {
  const std::string settings = GENERATE("kernel: 2", "kernel: 3, stride: 2, pad: 1, extra: 1",
                                        "kernel: [1, 3], groups: 2, bias: false");
  check_gradients("conv_transpose: {filters: 4, " + settings + "}", {3, 2, 2}, {.rows = 3, .workers = 2});
}

TEST_CASE("conv_transpose undoes the shape of a convolution with the same settings", "[layers]") {
  const std::string settings = "kernel: 3, stride: 2, pad: 1";
  const LayerHarness harness(
      "conv: {filters: 2, " + settings + "}, conv_transpose: {filters: 3, " + settings + "}", {7, 9, 3}, {});
  CHECK(harness.output() == Shape{7, 9, 3});
}

TEST_CASE("weights of a grouped convolution know its groups, for initializers", "[layers]") {
  const std::string layer = GENERATE("conv", "conv_transpose");
  const LayerHarness harness(layer + ": {filters: 4, kernel: 3, groups: 2}", {5, 5, 4}, {});
  const std::vector<Parameter>& parameters = harness.plan().parameters();
  const auto weight = std::ranges::find(parameters, layer + "1.weight", &Parameter::name);
  REQUIRE(weight != parameters.end());
  CHECK(weight->groups == 2);
}

TEST_CASE("conv_transpose refuses settings without an output", "[layers]") {
  CHECK_THROWS_WITH(LayerHarness("conv_transpose: {filters: 1, kernel: 1, pad: 2}", {3, 3, 1}, {}),
                    Catch::Contains("padding"));
  CHECK_THROWS_WITH(LayerHarness("conv_transpose: {filters: 1, kernel: 1, extra: 1}", {3, 3, 1}, {}),
                    Catch::Contains("less than the stride"));
}

}  // namespace
}  // namespace trainer
