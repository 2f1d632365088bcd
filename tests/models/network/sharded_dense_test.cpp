#include "models/network/sharded_dense.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

using Along = DenseShard::Along;

/// Adds the same number to x that the other rank would: stands for the exchange behind a cut by inputs.
class AddParts final : public Layer {
 public:
  explicit AddParts(const std::vector<float>& other) : other_(other) {}
  Shape setup(const Shape& sample, Plan&) override { return sample; }
  void forward(ConstTensor x, Tensor y, Pass&) override {
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = x[i] + other_[static_cast<std::size_t>(i)];
  }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass&) override {
    std::ranges::copy(dy.span(), dx.data());
  }

 private:
  const std::vector<float>& other_;
};

/// A network of one dense layer that may be cut, with the weights of the whole one.
class CutDense {
 public:
  CutDense(const std::string& yaml, const Shape& sample, const std::optional<DenseShard>& cut = std::nullopt,
           const std::vector<float>* other_parts = nullptr)
      : tree_(layer_list(yaml)),
        network_(tree_.root().items("layers"), sample,
                 {.batch = kRows,
                  .rewrite =
                      [&](Sequence& layers) {
                        auto& entries = layers.entries();
                        if (!cut) return;
                        const DenseSettings settings = dynamic_cast<Dense&>(*entries[0].layer).settings();
                        auto shard = std::make_unique<ShardedDense>(settings, *cut);
                        const ShardedDense& dense = *shard;
                        entries[0].layer = std::move(shard);
                        if (!other_parts) return;
                        entries.push_back({std::make_unique<AddParts>(*other_parts), "exchange"});
                        entries.push_back({std::make_unique<BiasActivation>(dense), "bias"});
                      }}),
        values_(network_.plan().parameter_end()),
        gradients_(network_.plan().parameter_end()) {
    for (const Parameter& parameter : network_.plan().parameters()) fill(parameter);
    network_.attach(values_.floats(), {{gradients_.floats()}, sum_});
  }

  static constexpr std::int64_t kRows = 3;

  std::vector<float> forward(std::span<const float> x) {
    const std::vector<std::int64_t> samples(kRows);
    std::ranges::copy(x, network_.input(0, kRows).data());
    const ConstTensor y = network_.forward(0, {.samples = samples, .batch_rows = kRows});
    return {y.span().begin(), y.span().end()};
  }
  const NetworkPlan& plan() const { return network_.plan(); }

 private:
  struct NoSum final : StatisticsReducer {
    void sum(int, std::span<const double>, std::span<double>) override {}
  };

  /// Number (row, column) of a whole parameter is 0.1 row - 0.2 column + 0.3, whatever the cut.
  void fill(const Parameter& parameter) {
    const bool is_matrix = parameter.shape.rank() == 2;
    const std::int64_t rows = is_matrix ? parameter.shape[0] : 1;
    const std::int64_t columns = is_matrix ? parameter.shape[1] : parameter.shape[0];
    const bool cuts_rows = is_matrix && parameter.shard_axis == 0;
    const std::int64_t first_row = cuts_rows ? parameter.shard_first : 0;
    const std::int64_t first_column =
        !cuts_rows && parameter.shard_axis >= 0 ? parameter.shard_first : std::int64_t{0};
    float* const place = values_.floats().data() + parameter.offset;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        place[row * columns + column] = 0.1f * static_cast<float>(row + first_row) -
                                        0.2f * static_cast<float>(column + first_column) + 0.3f;
  }

  ConfigTree tree_;
  Network network_;
  Arena values_, gradients_;
  NoSum sum_;
};

constexpr std::int64_t kInputs = 5, kUnits = 4;
constexpr const char* kLayer = "dense: {units: 4, activation: tanh}";

std::vector<float> columns(const std::vector<float>& matrix, std::int64_t width, std::int64_t first,
                           std::int64_t last) {
  std::vector<float> result;
  for (std::int64_t row = 0; row < CutDense::kRows; ++row)
    for (std::int64_t column = first; column < last; ++column)
      result.push_back(matrix[static_cast<std::size_t>(row * width + column)]);
  return result;
}

std::vector<float> some_input() {
  std::vector<float> x(CutDense::kRows * kInputs);
  RandomStream(1, "x").fill_uniform(0, x);
  return x;
}

TEST_CASE("a dense layer that is cut along its outputs computes its units of the whole", "[layers]") {
  const std::vector<float> x = some_input();
  const std::vector<float> whole = CutDense(kLayer, {kInputs}).forward(x);
  for (const auto& [first, last] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {1, 4}}) {
    CutDense part(kLayer, {kInputs}, DenseShard{.along = Along::outputs, .first = first, .last = last});
    CHECK(relative_difference(part.forward(x), columns(whole, kUnits, first, last)) < 1e-6);
    CHECK(part.plan().parameters()[0].whole_shape() == Shape{kInputs, kUnits});
    CHECK(part.plan().parameters()[1].whole_shape() == Shape{kUnits});
    CHECK(part.plan().parameters()[0].fan_out == kUnits);
  }
}

TEST_CASE("parts of a dense layer that is cut along its inputs add up to the whole", "[layers]") {
  const std::vector<float> x = some_input();
  const std::vector<float> whole = CutDense(kLayer, {kInputs}).forward(x);
  CutDense second(kLayer, {3}, DenseShard{.along = Along::inputs, .first = 2, .last = 5, .inputs = kInputs});
  const std::vector<float> other_parts = second.forward(columns(x, kInputs, 2, 5));
  CutDense first(kLayer, {2}, DenseShard{.along = Along::inputs, .first = 0, .last = 2, .inputs = kInputs},
                 &other_parts);
  CHECK(relative_difference(first.forward(columns(x, kInputs, 0, 2)), whole) < 1e-6);
  CHECK(first.plan().parameters()[0].fan_in == kInputs);
  CHECK(first.plan().parameters()[1].name == "dense1.bias");
}

}  // namespace
}  // namespace trainer
