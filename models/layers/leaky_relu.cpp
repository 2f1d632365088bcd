#include "engine/math/elementwise.h"
#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// y = x where x > 0, negative_slope x elsewhere (Maas, Hannun and Ng 2013). The shape stays.
class LeakyRelu final : public Layer {
 public:
  explicit LeakyRelu(const Config& config) : negative_slope_(config.get<float>("negative_slope")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    plan.backward_reads(false, true);
    plan.works_in_place();
    return sample;
  }
  bool is_elementwise() const override { return true; }
  void forward(ConstTensor x, Tensor y, Pass&) override {
    leaky_relu(x.size(), negative_slope_, x.data(), y.data());
  }
  void backward(ConstTensor, ConstTensor y, Tensor dy, Tensor dx, Pass&) override {
    // y is above zero exactly where x is.
    if (!dx.empty()) leaky_relu_backward(dy.size(), negative_slope_, y.data(), dy.data(), dx.data());
  }
  Value trace(Value x, Tracer& tracer) const override {
    return unary(tracer.graph, "LeakyRelu", x, {{"alpha", negative_slope_}});
  }

 private:
  float negative_slope_;
};

const Registry<Layer>::Add leaky_relu_layer{
    {.name = "leaky_relu",
     .help = "x where x > 0, negative_slope * x elsewhere",
     .primary = "negative_slope",
     .settings = {real("negative_slope", "factor of negative values")
                      .at_least(0)
                      .fallback("0.01")
                      .formerly("slope")}},
    [](const Config& config) { return std::make_unique<LeakyRelu>(config); }};

}  // namespace
}  // namespace trainer
