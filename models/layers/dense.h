#pragma once

#include <cstdint>
#include <string>

#include "models/layers/adapted_linear.h"
#include "models/layers/fused_activation.h"
#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {

/// A dense layer before its input is known.
struct DenseSettings {
  explicit DenseSettings(const Config& config);

  std::int64_t units = 0;   ///< 0: follows from `expand`
  std::int64_t expand = 0;  ///< outputs for each input
  bool bias = true;
  std::string tied_to;  ///< the layer whose weight it shares; empty: none
  Activation activation = Activation::none;
  AdapterSettings adapter;
};

/// y = f(x W + b) on the last extent of x: (..., inputs) -> (..., units); with a shared weight, which lies
/// (units, inputs), f(x W' + b).
class Dense final : public Layer {
 public:
  explicit Dense(const Config& config) : settings_(config), config_(config) {}

  Shape setup(const Shape& sample, Plan& plan) override;
  void forward(ConstTensor x, Tensor y, Pass& pass) override;
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override;
  std::int64_t flops() const override { return flops_; }
  bool is_stepwise() const override { return true; }
  Value trace(Value x, Tracer& tracer) const override {
    return activate(tracer.graph, settings_.activation, product_.trace(x, tracer));
  }

  const DenseSettings& settings() const { return settings_; }

 private:
  ParameterId find_tied_weight(const Linear::Extents& extents, const Shape& sample, Plan& plan) const;

  DenseSettings settings_;
  Config config_;
  std::int64_t positions_ = 0, units_ = 0, flops_ = 0;
  bool in_parts_ = false;  ///< parameters are acquired, and gradients reported, part by part
  AdaptedLinear product_;
  FusedActivation activation_;
};

}  // namespace trainer
