#include <algorithm>

#include "engine/math/activations.h"
#include "engine/math/elementwise.h"
#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// y = x / (k + alpha / size * sum of x^2 over neighbouring channels)^beta (Krizhevsky, Sutskever and Hinton
/// 2012, with alpha divided by the size as PyTorch does).
class LocalResponseNorm final : public Layer {
 public:
  explicit LocalResponseNorm(const Config& config)
      : size_(config.get<std::int64_t>("size")),
        alpha_(config.get<float>("alpha")),
        beta_(config.get<float>("beta")),
        k_(config.get<float>("k")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    channels_ = sample[sample.rank() - 1];
    base_ = plan.saved(sample.size());
    power_ = plan.saved(sample.size());
    terms_ = plan.scratch(sample.size());
    sums_ = plan.scratch(sample.size());
    plan.backward_reads(true, false);
    plan.works_in_place();
    return sample;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    const std::int64_t count = x.size();
    float* const base = pass.buffer(base_).data();
    float* const squares = pass.buffer(terms_).data();
    multiply(count, x.data(), x.data(), squares);
    sum_windows(count / channels_, squares, size_ / 2, base);
    const float factor = alpha_ / static_cast<float>(size_);
    for (std::int64_t i = 0; i < count; ++i) base[i] = k_ + factor * base[i];
    float* const factors = pass.buffer(power_).data();
    power(count, -beta_, base, factors);
    multiply(count, x.data(), factors, y.data());
  }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    if (dx.empty()) return;
    const std::int64_t count = x.size();
    const float* const base = pass.buffer(base_).data();
    const float* const factors = pass.buffer(power_).data();
    float* const terms = pass.buffer(terms_).data();
    float* const sums = pass.buffer(sums_).data();
    for (std::int64_t i = 0; i < count; ++i) terms[i] = dy[i] * x[i] * factors[i] / base[i];
    // The windows that hold a channel reach as far the other way.
    sum_windows(count / channels_, terms, (size_ - 1) / 2, sums);
    const float factor = 2 * alpha_ * beta_ / static_cast<float>(size_);
    for (std::int64_t i = 0; i < count; ++i) dx[i] = dy[i] * factors[i] - factor * x[i] * sums[i];
  }
  Value trace(Value x, Tracer& tracer) const override {
    // Means of squares over `size` channels, as those of windows over a map (channels, positions).
    Graph& graph = tracer.graph;
    const Extents extents = graph.extents(x);
    const Value turned = channels_second(graph, x);
    const Value squares = binary(graph, "Mul", turned, turned);
    const std::int64_t positions = element_count(extents) / channels_;
    const Extents lines{kBatch, 1, channels_, positions};
    using Integers = std::vector<std::int64_t>;
    const Value means = graph.add("AveragePool", {reshape(graph, squares, lines)}, lines,
                                  {{"kernel_shape", Integers{size_, 1}},
                                   {"pads", Integers{size_ / 2, 0, (size_ - 1) / 2, 0}},
                                   {"count_include_pad", std::int64_t{1}}});
    const Value base = binary(graph, "Add", binary(graph, "Mul", means, alpha_), k_);
    const Value power = reshape(graph, binary(graph, "Pow", base, beta_), graph.extents(turned));
    return channels_last(graph, binary(graph, "Div", turned, power));
  }

 private:
  /// sums[c] = sum of x over `size` channels, the first of them `before` before c; those outside count as
  /// zeros.
  void sum_windows(std::int64_t rows, const float* x, std::int64_t before, float* sums) const {
    std::fill_n(sums, rows * channels_, 0.0f);
    for (std::int64_t row = 0; row < rows; ++row, x += channels_, sums += channels_)
      for (std::int64_t shift = -before; shift < size_ - before; ++shift) {
        const std::int64_t first = std::max<std::int64_t>(0, -shift);
        const std::int64_t last = std::min(channels_, channels_ - shift);
        if (first < last) add(last - first, sums + first, x + first + shift, sums + first);
      }
  }

  std::int64_t size_;
  float alpha_, beta_, k_;
  std::int64_t channels_ = 0;
  Buffer<> base_, power_, terms_, sums_;
};

const Registry<Layer>::Add local_response_norm_layer{
    {.name = "local_response_norm",
     .help =
         "local response normalization: x / (k + alpha / size * sum of squares in adjacent channels)^beta",
     .primary = "size",
     .settings = {integer("size", "number of adjacent channels, its own included").at_least(1).at_most(1e6),
                  real("alpha", "factor of the mean of squares").above(0).fallback("1e-4"),
                  real("beta", "exponent").above(0).fallback("0.75"),
                  real("k", "constant that is added").above(0).fallback("1")}},
    [](const Config& config) { return std::make_unique<LocalResponseNorm>(config); }};

}  // namespace
}  // namespace trainer
