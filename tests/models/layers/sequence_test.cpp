#include "models/layers/sequence.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/math/gemm.h"
#include "tests/support/layer_check.h"

namespace trainer {
namespace {

/// Layers of every kind that holds others, with parameters before, inside and behind them.
constexpr const char* kNested =
    "conv: {filters: 2, kernel: 1}, "
    "residual: {body: [batch_norm, tanh, conv: {filters: 4, kernel: 3, stride: 2, pad: same}], shortcut: "
    "conv}, "
    "concat: [[conv: {filters: 2, kernel: 1}], [residual: [conv: {filters: 4, kernel: 1}, sigmoid]], []], "
    "dense: 3";

std::vector<float> numbers(std::int64_t count) {
  std::vector<float> result(static_cast<std::size_t>(count));
  RandomStream(1, "numbers").fill_uniform(0, result);
  return result;
}

/// Looks at the gradients that are called final.
class Looking final : public GradientSink {
 public:
  explicit Looking(LayerHarness& harness) : harness_(harness), position_(harness.plan().parameter_end()) {}
  std::int64_t position(int) const override { return position_; }
  void ready(int, std::int64_t offset) override {
    CHECK(offset < position_);
    position_ = offset;
    ++calls_;
    for (const Parameter& parameter : harness_.parameters())
      if (parameter.offset + parameter.shape.size() > offset) {
        const std::vector<float> all = harness_.gradient(parameter);
        const auto final_from =
            static_cast<std::ptrdiff_t>(std::max<std::int64_t>(0, offset - parameter.offset));
        CHECK(std::none_of(all.begin() + final_from, all.end(), [](float g) { return std::isnan(g); }));
      }
  }
  int calls() const { return calls_; }

 private:
  LayerHarness& harness_;
  std::int64_t position_;
  int calls_ = 0;
};

TEST_CASE("gradients are called final from the last to the first, and then they are", "[network]") {
  const int exact_virtual_workers = GENERATE(0, 8);
  LayerHarness harness(kNested, {4, 4, 2}, {.exact_virtual_workers = exact_virtual_workers});
  harness.forward(numbers(3 * 32));
  Looking looking(harness);
  harness.backward(numbers(9), &looking);
  CHECK(looking.position(0) == 0);
  CHECK(looking.calls() >= 6);
}

TEST_CASE("the gradient of a large weight is called final part by part, with the bits of one product",
          "[network]") {
  if (!gemm_is_chained()) return;
  constexpr std::int64_t kInputs = 48, kUnits = 1 << 17, kRows = 2;
  LayerHarness harness("dense: {units: 131072, bias: false}", {kInputs}, {.rows = kRows});
  const Parameter& weight = harness.parameters()[0];
  const std::vector<float> x = numbers(kRows * kInputs), dy = numbers(kRows * kUnits);
  std::vector<float> y(dy.size()), gradient(static_cast<std::size_t>(kInputs * kUnits));
  gemm(Transpose::no, Transpose::no, kRows, kUnits, kInputs, x.data(), kInputs, harness.values(weight).data(),
       kUnits, 0, y.data(), kUnits);
  gemm(Transpose::yes, Transpose::no, kInputs, kUnits, kRows, x.data(), kInputs, dy.data(), kUnits, 0,
       gradient.data(), kUnits);
  CHECK(harness.forward(x) == y);
  Looking looking(harness);
  harness.backward(dy, &looking);
  CHECK(looking.calls() > 2);
  CHECK(harness.gradient(weight) == gradient);
}

TEST_CASE("parameter gradients do not depend on whether the input's gradient is computed", "[network]") {
  const std::string layers =
      GENERATE(std::string(kNested), "dense: 3, relu, dense: 3", "relu, max_pool: 2, dense: 3",
               "batch_norm, dense: 3", "concat: [[dense: 3], [flatten]]",
               "dropout: 0.5, residual: {body: [conv: {filters: 3, kernel: 3, pad: same}], shortcut: pad}");
  const Shape sample{4, 4, 2};
  LayerHarness with(layers, sample, {}), without(layers, sample, {.input_gradient = false});
  for (std::size_t i = 0; i < with.parameters().size(); ++i)
    std::ranges::copy(with.values(with.parameters()[i]), without.values(without.parameters()[i]).begin());
  const std::vector<float> x = numbers(3 * sample.size()), dy = numbers(3 * with.output().size());
  CHECK(with.forward(x) == without.forward(x));
  with.backward(dy);
  without.backward(dy);
  for (std::size_t i = 0; i < with.parameters().size(); ++i) {
    INFO(layers << ", " << with.parameters()[i].name);
    CHECK(with.gradient(with.parameters()[i]) == without.gradient(without.parameters()[i]));
  }
}

TEST_CASE("layers are numbered by type, and two may not share a name", "[network]") {
  LayerHarness harness("dense: 3, relu, dense: {units: 2, name: output}, dense: 4", {2}, {});
  std::vector<std::string> names;
  for (const Parameter& parameter : harness.parameters()) names.push_back(parameter.name);
  CHECK(names == std::vector<std::string>{"dense1.weight", "dense1.bias", "output.weight", "output.bias",
                                          "dense2.weight", "dense2.bias"});
  CHECK_THROWS_WITH(LayerHarness("dense: {units: 3, name: a}, residual: [relu: {name: a}]", {2}, {}),
                    Catch::Contains("two layers are named `a`"));
}

}  // namespace
}  // namespace trainer
