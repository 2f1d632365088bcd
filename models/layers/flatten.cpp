#include "models/layers/flatten.h"

#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// A sample as a vector; a map (H, W, C) in the order channels, height, width, which is that of files.
class Flatten final : public Layer {
 public:
  Shape setup(const Shape& sample, Plan& plan) override {
    channels_ = sample.rank() == 3 ? sample[2] : 1;
    positions_ = sample.size() / channels_;
    plan.backward_reads(false, false);
    if (channels_ == 1 || positions_ == 1) plan.is_view();
    return {sample.size()};
  }
  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    transpose(pass.rows(), positions_, channels_, x.data(), y.data());
  }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    if (!dx.empty()) transpose(pass.rows(), channels_, positions_, dy.data(), dx.data());
  }
  Value trace(Value x, Tracer& tracer) const override {
    const Extents extents{kBatch, channels_ * positions_};
    return tracer.graph.add("Flatten", {x}, extents, {{"axis", std::int64_t{1}}});
  }

 private:
  /// Each sample from (rows, columns) to (columns, rows).
  static void transpose(std::int64_t samples, std::int64_t rows, std::int64_t columns, const float* x,
                        float* y) {
    for (; samples > 0; --samples, x += rows * columns, y += rows * columns)
      for (std::int64_t column = 0; column < columns; ++column)
        for (std::int64_t row = 0; row < rows; ++row) y[column * rows + row] = x[row * columns + column];
  }

  std::int64_t channels_ = 1, positions_ = 1;
};

const Registry<Layer>::Add flatten_layer{
    {.name = "flatten", .help = "a vector of all elements; a map in the order channels, height, width"},
    [](const Config&) { return make_flatten(); }};

}  // namespace

std::unique_ptr<Layer> make_flatten() { return std::make_unique<Flatten>(); }

}  // namespace trainer
