// Functions that dense and conv apply to their output: the setting, and layers of the same names.
#include "engine/math/types/activation.h"

#include <algorithm>

#include "engine/math/elementwise.h"
#include "models/layers/activation_setting.h"
#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {

namespace {

struct Named {
  const char* name;
  Activation activation;
};

constexpr Named kActivations[] = {
    {"none", Activation::none},           {"relu", Activation::relu}, {"relu6", Activation::relu6},
    {"sigmoid", Activation::sigmoid},     {"tanh", Activation::tanh}, {"gelu", Activation::gelu},
    {"gelu_tanh", Activation::gelu_tanh}, {"silu", Activation::silu}, {"hardswish", Activation::hardswish},
    {"softplus", Activation::softplus},   {"elu", Activation::elu}};

}  // namespace

Setting activation_setting() {
  std::vector<std::string> names;
  for (const Named& known : kActivations) names.push_back(known.name);
  return choice("activation", "function applied to the output", std::move(names)).fallback("none");
}

Activation activation_of(const Config& config) {
  return std::ranges::find(kActivations, config.get<std::string>("activation"), &Named::name)->activation;
}

namespace {

/// y = f(x) elementwise; the shape stays.
class ActivationLayer final : public Layer {
 public:
  explicit ActivationLayer(Activation activation) : activation_(activation) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    plan.backward_reads(derivative_from_input(activation_), !derivative_from_input(activation_));
    plan.works_in_place();
    return sample;
  }
  bool is_elementwise() const override { return true; }
  void forward(ConstTensor x, Tensor y, Pass&) override {
    activate(activation_, x.size(), x.data(), y.data());
  }
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass&) override {
    const float* const read = derivative_from_input(activation_) ? x.data() : y.data();
    if (!dx.empty()) activate_backward(activation_, dy.size(), read, dy.data(), dx.data());
  }
  Value trace(Value x, Tracer& tracer) const override { return activate(tracer.graph, activation_, x); }

 private:
  Activation activation_;
};

Registry<Layer>::Make make(Activation activation) {
  return [activation](const Config&) { return std::make_unique<ActivationLayer>(activation); };
}

const Registry<Layer>::Add relu_layer{{.name = "relu", .help = "max(x, 0)"}, make(Activation::relu)};
const Registry<Layer>::Add relu6_layer{{.name = "relu6", .help = "min(max(x, 0), 6)"},
                                       make(Activation::relu6)};
const Registry<Layer>::Add sigmoid_layer{{.name = "sigmoid", .help = "1 / (1 + exp(-x))"},
                                         make(Activation::sigmoid)};
const Registry<Layer>::Add hyperbolic_tangent_layer{{.name = "tanh", .help = "the hyperbolic tangent"},
                                                    make(Activation::tanh)};
const Registry<Layer>::Add gelu_layer{
    {.name = "gelu", .help = "x times the normal cumulative distribution of x, exactly (gelu_tanh: nearly)"},
    make(Activation::gelu)};

const Registry<Layer>::Add gelu_tanh_layer{
    {.name = "gelu_tanh", .help = "gelu by its approximation with tanh, as GPT-2 has it (`gelu_new`)"},
    make(Activation::gelu_tanh)};
const Registry<Layer>::Add silu_layer{{.name = "silu", .help = "x / (1 + exp(-x)), also known as swish"},
                                      make(Activation::silu)};
const Registry<Layer>::Add hardswish_layer{
    {.name = "hardswish", .help = "x min(max(x + 3, 0), 6) / 6, a silu without exponentials"},
    make(Activation::hardswish)};
const Registry<Layer>::Add softplus_layer{{.name = "softplus", .help = "log(1 + exp(x)), a smooth relu"},
                                          make(Activation::softplus)};

}  // namespace
}  // namespace trainer
