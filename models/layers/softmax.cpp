#include "engine/math/elementwise.h"
#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// y = exp(x) / sum of exp(x) along the last extent: features, or the channels of a map. The shape stays.
class Softmax final : public Layer {
 public:
  Shape setup(const Shape& sample, Plan& plan) override {
    columns_ = sample[sample.rank() - 1];
    positions_ = sample.with_last(1).size();
    plan.backward_reads(false, true);
    plan.works_in_place();
    return sample;
  }
  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    softmax(pass.rows() * positions_, columns_, x.data(), y.data());
  }
  void backward(ConstTensor, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override {
    if (dx.empty()) return;
    for (std::int64_t row = 0; row < pass.rows() * positions_; ++row) {
      const std::int64_t first = row * columns_, last = first + columns_;
      double product = 0;
      for (std::int64_t i = first; i < last; ++i) product += static_cast<double>(y[i]) * dy[i];
      for (std::int64_t i = first; i < last; ++i) dx[i] = y[i] * (dy[i] - static_cast<float>(product));
    }
  }
  bool is_stepwise() const override { return true; }
  Value trace(Value x, Tracer& tracer) const override {
    const std::int64_t last = tracer.graph.at(x).rank() - 1;
    return softmax_along(tracer.graph, x, last == 3 ? 1 : last);
  }

 private:
  std::int64_t positions_ = 0, columns_ = 0;
};

const Registry<Layer>::Add softmax_layer{
    {.name = "softmax",
     .help = "softmax over features or channels (the loss softmax_cross_entropy includes one)"},
    [](const Config&) { return std::make_unique<Softmax>(); }};

}  // namespace
}  // namespace trainer
