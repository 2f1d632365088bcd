#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

/// Three samples of four tokens below 5, some of them several times.
const std::vector<float> kTokens{0, 3, 3, 1, 4, 4, 4, 4, 2, 0, 1, 3};

TEST_CASE("embedding passes the gradient check, whatever is added for positions", "[layers]") {
  const std::string positions = GENERATE("none", "learned", "sinusoidal");
  check_gradients("embedding: {units: 3, vocabulary: 5, positions: " + positions + "}, dense: 2", {4},
                  {.rows = 3, .workers = 2}, kTokens);
}

TEST_CASE("a tied weight has the gradient of all its uses", "[layers]") {
  const int workers = GENERATE(1, 3);
  check_gradients("embedding: {units: 3, vocabulary: 5, name: tokens}, tanh, dense: {units: 5, tie: tokens}",
                  {4}, {.rows = 3, .workers = workers}, kTokens);
  check_gradients(
      "embedding: {units: 3, vocabulary: 5, name: tokens}, dense: {units: 5, tie: tokens, bias: false}, "
      "tanh, "
      "dense: 3, dense: {units: 5, tie: tokens}",
      {4}, {.rows = 3, .workers = workers}, kTokens);
}

TEST_CASE("a tied autoencoder passes the gradient check", "[layers]") {
  check_gradients("dense: {units: 3, activation: tanh, name: code}, dense: {units: 4, tie: code}", {4},
                  {.rows = 5, .workers = 2});
}

/// Calls back each time that gradients become final.
class Callback final : public GradientSink {
 public:
  Callback(std::int64_t end, std::function<void(std::int64_t)> call)
      : position_(end), call_(std::move(call)) {}
  std::int64_t position(int) const override { return position_; }
  void ready(int, std::int64_t offset) override { call_(position_ = offset); }

 private:
  std::int64_t position_;
  std::function<void(std::int64_t)> call_;
};

TEST_CASE("gradients are reported as final only when every use of a tied weight has given its part",
          "[layers]") {
  const int exact_virtual_workers = GENERATE(0, 4);
  LayerHarness harness(
      "embedding: {units: 3, vocabulary: 5, name: tokens}, dense: 3, dense: {units: 5, tie: tokens}", {4},
      {.rows = 3, .exact_virtual_workers = exact_virtual_workers});
  harness.forward(kTokens);
  std::vector<std::pair<std::int64_t, std::vector<std::vector<float>>>> reports;
  const auto gradients = [&] {
    std::vector<std::vector<float>> all;
    for (const Parameter& parameter : harness.parameters()) all.push_back(harness.gradient(parameter));
    return all;
  };
  const std::vector<float> dy(3 * 4 * 5, 0.5f);
  Callback sink(harness.plan().parameter_end(),
                [&](std::int64_t offset) { reports.emplace_back(offset, gradients()); });
  harness.backward(dy, &sink);
  const auto final_gradients = gradients();
  CHECK(reports.size() >= 3);
  for (const auto& [offset, then] : reports)
    for (std::size_t i = 0; i < then.size(); ++i)
      if (harness.parameters()[i].offset >= offset) CHECK(then[i] == final_gradients[i]);
}

TEST_CASE("sinusoidal positions are sines and cosines of rising wavelength", "[layers]") {
  LayerHarness harness("embedding: {units: 4, vocabulary: 5, positions: sinusoidal}", {3}, {.rows = 1});
  for (float& value : harness.values(harness.parameters()[0])) value = 1;
  const std::vector<float> y = harness.forward(std::vector<float>{0, 1, 2});
  CHECK(y[0] == 1);
  CHECK(y[1] == 2);
  CHECK(y[8] == Approx(1 + std::sin(2.0)));
  CHECK(y[9] == Approx(1 + std::cos(2.0)));
  CHECK(y[10] == Approx(1 + std::sin(0.02)));
}

TEST_CASE("a token outside of the vocabulary is an error, not a read beyond the table", "[layers]") {
  LayerHarness harness("embedding: {units: 4, vocabulary: 5}", {2}, {.rows = 1});
  const float bad = GENERATE(5.0f, -1.0f, 1e30f, std::numeric_limits<float>::quiet_NaN());
  CHECK_THROWS_AS(harness.forward(std::vector<float>{0, bad}), Error);
}

TEST_CASE("a tie that fits nothing is an error of the file", "[layers]") {
  const auto built = [](const std::string& yaml) { LayerHarness(yaml, {4}, {}); };
  CHECK_THROWS_WITH(built("dense: 3, dense: {units: 4, tie: missing}"),
                    Catch::Contains("no layer before this one"));
  CHECK_THROWS_WITH(built("dense: {units: 3, name: code}, dense: {units: 5, tie: code}"),
                    Catch::Contains("5 units from 3 inputs, but code.weight is 4x3"));
  CHECK_THROWS_WITH(built("embedding: {units: 2, vocabulary: 5}, embedding: {units: 2, vocabulary: 5}"),
                    Catch::Contains("requires a sequence of tokens"));
}

TEST_CASE("expand gives a multiple of the inputs", "[layers]") {
  CHECK(LayerHarness("dense: {expand: 4}", {2, 3}, {}).output() == Shape{2, 12});
  CHECK_THROWS_WITH(layer_list("dense: {expand: 4, units: 3}"), Catch::Contains("exclude each other"));
  CHECK_THROWS_WITH(layer_list("dense: {bias: false}"), Catch::Contains("units"));
}

TEST_CASE("positions are added to every sample alike", "[layers]") {
  LayerHarness harness("positions", {2, 2}, {.rows = 2});
  const std::span<float> added = harness.values(harness.parameters()[0]);
  std::ranges::copy(std::vector<float>{10, 20, 30, 40}, added.begin());
  CHECK(harness.forward(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}) ==
        std::vector<float>{11, 22, 33, 44, 15, 26, 37, 48});
}

TEST_CASE("positions pass the gradient check, alone and inside a residual", "[layers]") {
  const std::string layers = GENERATE("positions", "residual: [positions, tanh]", "dense: 3, positions");
  check_gradients(layers, {4, 3}, {.rows = 3, .workers = 2});
}

TEST_CASE("positions expect a sequence of vectors", "[layers]") {
  CHECK_THROWS_WITH(LayerHarness("positions", {5}, {}), Catch::Contains("a sequence of vectors"));
}

}  // namespace
}  // namespace trainer
