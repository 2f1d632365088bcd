#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

constexpr const char* kStridedBody =
    "[conv: {filters: 4, kernel: 3, stride: 2, pad: same}, tanh, conv: {filters: 4, kernel: 3, pad: same}]";

TEST_CASE("residual passes the gradient check with every shortcut", "[layers]") {
  check_gradients("residual: [dense: 5, tanh]", {5});
  check_gradients("residual: {body: [relu, dense: 5], shortcut: pad}", {5}, {.rows = 3, .workers = 2});
  for (const std::string shortcut : {"pad", "conv"})
    check_gradients("residual: {body: " + std::string(kStridedBody) + ", shortcut: " + shortcut + "}",
                    {5, 6, 3}, {.rows = 2, .workers = 2});
}

TEST_CASE("residuals may hold residuals, views and layers that work in place", "[layers]") {
  check_gradients(
      "dense: 4, residual: [residual: [dense: {units: 4, bias: false}, batch_norm, tanh], dense: 4, "
      "sigmoid], dense: 2",
      {3}, {.rows = 5, .workers = 2});
  check_gradients("residual: [flatten, dense: 4, flatten]", {4});
  check_gradients("residual: [tanh, leaky_relu]", {4});
}

TEST_CASE("a residual's shortcut may be any layers", "[layers]") {
  const auto shortcut = [](const std::string& layers) {
    return "residual: {body: " + std::string(kStridedBody) + ", shortcut: [" + layers + "]}";
  };
  const std::string conv = "conv: {filters: 4, kernel: 1, stride: 2, bias: false}";
  for (const std::string& layers : {conv, conv + ", batch_norm", conv + ", tanh"})
    check_gradients(shortcut(layers), {5, 6, 3}, {.rows = 3, .workers = 2});
  check_gradients("residual: {body: [dense: 5, tanh], shortcut: []}", {5});

  LayerHarness harness(shortcut(conv + ", batch_norm"), {5, 6, 3}, {});
  std::vector<std::string> names;
  for (const Parameter& parameter : harness.parameters()) names.push_back(parameter.name);
  CHECK(names == std::vector<std::string>{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
                                          "conv3.weight", "batch_norm1.weight", "batch_norm1.bias"});
  CHECK_THROWS_WITH(LayerHarness(shortcut("tanh"), {5, 6, 3}, {}),
                    Catch::Contains("its body gives 4x3x3, its shortcut 3x5x6"));
}

TEST_CASE("the parameters of a residual's shortcut are named after it", "[layers]") {
  LayerHarness harness("residual: {body: " + std::string(kStridedBody) + ", shortcut: conv, name: down}",
                       {5, 6, 3}, {});
  const auto parameters = harness.parameters();
  REQUIRE(parameters.size() == 5);
  CHECK(parameters[0].name == "conv1.weight");
  CHECK(parameters[4].name == "down.shortcut.weight");
  CHECK(parameters[4].shape == Shape{1, 1, 3, 4});
}

TEST_CASE("a residual whose two ways do not meet is an error", "[layers]") {
  const auto build = [](const std::string& yaml, const Shape& sample) { LayerHarness(yaml, sample, {}); };
  CHECK_THROWS_WITH(build("residual: [dense: 4]", {5}),
                    Catch::Contains("residual1 does not fit: its body gives 4, input 5"));
  CHECK_THROWS_WITH(build("residual: {body: [dense: 4], shortcut: pad}", {5}),
                    Catch::Contains("residual1 does not fit"));
  CHECK_THROWS_WITH(build("residual: {body: [conv: {filters: 2, kernel: 1}], shortcut: pad}", {4, 4, 3}),
                    Catch::Contains("residual1 does not fit"));
  CHECK_THROWS_WITH(build("residual: {body: [conv: {filters: 3, kernel: 2}], shortcut: conv}", {4, 4, 3}),
                    Catch::Contains("residual1 does not fit: its body gives 3x3x3, input 3x4x4"));
  CHECK_THROWS_WITH(build("residual: []", {4}), Catch::Contains("no layers"));
}

TEST_CASE("a residual with drop leaves out the body of some samples and scales up that of others",
          "[layers]") {
  const std::int64_t rows = 400;
  LayerHarness harness("residual: {body: [dense: {units: 1, bias: false}], drop: 0.25}", {1}, {.rows = rows});
  harness.values(harness.parameters()[0])[0] = 3;
  const std::vector<float> ones(static_cast<std::size_t>(rows), 1.0f);
  const std::vector<float> y = harness.forward(ones);
  const std::vector<float> dx = harness.backward(ones);
  std::int64_t left_out = 0;
  for (std::size_t row = 0; row < y.size(); ++row) {
    CHECK((y[row] == 1 || y[row] == 5));
    CHECK(dx[row] == y[row]);
    left_out += y[row] == 1;
  }
  CHECK(left_out == Approx(100).margin(30));
  CHECK(harness.gradient(harness.parameters()[0])[0] == Approx(static_cast<double>(rows - left_out) / 0.75));
  CHECK(harness.forward(ones, Mode::evaluation) == std::vector<float>(ones.size(), 4.0f));
}

TEST_CASE("which samples a residual leaves out does not depend on workers", "[layers]") {
  const std::string yaml = "residual: {body: [dense: 2, tanh], drop: 0.5}";
  check_gradients(yaml, {2}, {.rows = 5, .workers = 2});
  const std::vector<float> x(14, 0.5f);
  CHECK(relative_difference(LayerHarness(yaml, {2}, {.rows = 7, .workers = 3}).forward(x),
                            LayerHarness(yaml, {2}, {.rows = 7}).forward(x)) < 1e-6);
}

}  // namespace
}  // namespace trainer
