#include "engine/math/activations.h"
#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// y = x where x > 0, alpha (e^x - 1) elsewhere (Clevert, Unterthiner and Hochreiter 2016). The shape
/// stays.
class Elu final : public Layer {
 public:
  explicit Elu(const Config& config) : alpha_(config.get<float>("alpha")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    plan.backward_reads(false, true);
    plan.works_in_place();
    return sample;
  }
  bool is_elementwise() const override { return true; }
  void forward(ConstTensor x, Tensor y, Pass&) override { elu(x.size(), alpha_, x.data(), y.data()); }
  void backward(ConstTensor, ConstTensor y, Tensor dy, Tensor dx, Pass&) override {
    // y is above zero exactly where x is, and below zero the derivative is y + alpha.
    if (!dx.empty()) elu_backward(dy.size(), alpha_, y.data(), dy.data(), dx.data());
  }
  Value trace(Value x, Tracer& tracer) const override {
    return unary(tracer.graph, "Elu", x, {{"alpha", alpha_}});
  }

 private:
  float alpha_;
};

const Registry<Layer>::Add elu_layer{
    {.name = "elu",
     .help = "x where x > 0, alpha (exp(x) - 1) elsewhere",
     .primary = "alpha",
     .settings = {real("alpha", "minus the limit for large negative x").at_least(0).fallback("1")}},
    [](const Config& config) { return std::make_unique<Elu>(config); }};

}  // namespace
}  // namespace trainer
