#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "engine/config/registry.h"
#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("activations pass the gradient check, alone and over the memory of another layer", "[layers]") {
  const std::string layer =
      GENERATE("relu", "sigmoid", "tanh", "gelu", "silu", "hardswish", "softplus", "elu", "elu: 0.3",
               "elu: 0", "leaky_relu", "leaky_relu: 0.3", "leaky_relu: 0", "relu6", "softmax", "gelu_tanh");
  check_gradients(layer, {7});
  check_gradients("dense: 5, " + layer + ", dense: 3", {4}, {.rows = 4, .workers = 2});
}

TEST_CASE("gelu and similar functions pass the gradient check when fused, with and without bias",
          "[layers]") {
  const std::string function = GENERATE("gelu", "gelu_tanh", "silu", "hardswish", "softplus", "elu");
  const std::string bias = GENERATE("true", "false");
  check_gradients("dense: {units: 5, activation: " + function + ", bias: " + bias + "}, dense: 3", {4},
                  {.rows = 4, .workers = 2});
  check_gradients("conv: {filters: 3, kernel: 2, activation: " + function + ", bias: " + bias + "}",
                  {3, 3, 2});
}

TEST_CASE("softmax acts on each position of a map", "[layers]") { check_gradients("softmax", {2, 2, 3}); }

TEST_CASE("relu6 is cut off at 0 and at 6, where its derivative is 0", "[layers]") {
  LayerHarness harness("relu6", {6}, {.rows = 1});
  CHECK(harness.forward(std::vector<float>{-1, 0, 0.5f, 5.5f, 6, 7}) ==
        std::vector<float>{0, 0, 0.5f, 5.5f, 6, 6});
  CHECK(harness.backward(std::vector<float>{1, 2, 3, 4, 5, 6}) == std::vector<float>{0, 0, 3, 4, 0, 0});
}

TEST_CASE("hardswish is 0 below -3 and x above 3", "[layers]") {
  LayerHarness harness("hardswish", {6}, {.rows = 1});
  CHECK(harness.forward(std::vector<float>{-4, -3, -1.5f, 0, 3, 4}) ==
        std::vector<float>{0, 0, -0.375f, 0, 3, 4});
  CHECK(harness.backward(std::vector<float>{1, 0, 2, 3, 0, 5}) == std::vector<float>{0, 0, 0, 1.5f, 0, 5});
}

TEST_CASE("a NaN passes through activations", "[layers]") {
  const auto* const yaml = GENERATE("relu", "sigmoid", "tanh", "gelu", "silu", "hardswish", "softplus", "elu",
                                    "leaky_relu", "relu6", "softmax", "gelu_tanh");
  LayerHarness harness(yaml, {2}, {.rows = 1});
  CHECK(std::isnan(harness.forward(std::vector<float>{std::numeric_limits<float>::quiet_NaN(), 1})[0]));
}

TEST_CASE("leaky_relu takes no negative factor", "[layers]") {
  CHECK_THROWS_WITH(layer_list("leaky_relu: -0.1"), Catch::Contains("negative_slope"));
}

TEST_CASE("a former key of a layer is an error that names its key of today", "[layers]") {
  int former_keys = 0;
  for (const auto& [name, layer] : Catalog::all().at("layer").members)
    for (const Setting& setting : layer.settings) {
      if (setting.former_name.empty()) continue;
      ++former_keys;
      CHECK_THROWS_WITH(
          layer_list(name + ": {" + setting.former_name + ": 1}"),
          Catch::Contains("`" + setting.former_name + "` is now called `" + setting.name + "`"));
    }
  CHECK(former_keys >= 3);
}

TEST_CASE("prelu passes the gradient check with a factor for each channel and with one for all", "[layers]") {
  const std::string layer = GENERATE("prelu", "prelu: {shared: true}");
  check_gradients(layer, {7});
  check_gradients(layer, {2, 3, 3}, {.rows = 3, .workers = 2});
}

TEST_CASE("the factors of prelu begin at 0.25 and are no weights", "[layers]") {
  LayerHarness harness("prelu", {2, 2, 3}, {});
  REQUIRE(harness.parameters().size() == 1);
  CHECK(harness.parameters()[0].shape == Shape{3});
  CHECK(harness.parameters()[0].constant == 0.25f);
  CHECK_FALSE(harness.parameters()[0].is_weight);
}

}  // namespace
}  // namespace trainer
