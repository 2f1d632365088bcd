#include "engine/math/elementwise.h"
#include "models/layers/layer.h"

namespace trainer {
namespace {

/// y = x where x > 0, slope * x elsewhere.
class LeakyRelu final : public Layer {
 public:
  explicit LeakyRelu(const Config& config) : slope_(config.get<float>("slope")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    plan.backward_reads(false, true);
    plan.works_in_place();
    return sample;
  }
  bool is_elementwise() const override { return true; }
  void forward(ConstTensor x, Tensor y, Pass&) override { leaky_relu(x.size(), slope_, x.data(), y.data()); }
  void backward(ConstTensor, ConstTensor y, Tensor dy, Tensor dx, Pass&) override {
    // y tells as much as x: it is above zero exactly where x is.
    if (!dx.empty()) leaky_relu_backward(dy.size(), slope_, y.data(), dy.data(), dx.data());
  }

 private:
  float slope_;
};

const Registry<Layer>::Add registered{
    {.name = "leaky_relu",
     .help = "x where x > 0, slope * x elsewhere",
     .primary = "slope",
     .settings = {real("slope", "factor for values below zero").at_least(0).fallback("0.01")}},
    [](const Config& config) { return std::make_unique<LeakyRelu>(config); }};

}  // namespace
}  // namespace trainer
