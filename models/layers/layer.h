#pragma once

#include "engine/config/registry.h"
#include "engine/core/tensor.h"
#include "models/network/pass.h"
#include "models/network/plan.h"

namespace trainer {

/// One step of a network: one tensor in, one out. Holds settings and what it booked in setup(); never
/// activations, optimizers, data or processes. Several workers call one layer at once, each with its own
/// Pass.
class Layer {
 public:
  static constexpr const char* kFamily = "layer";
  virtual ~Layer() = default;

  /// Checks the input's shape (one sample, maps as (H, W, C)), books parameters, state and memory, gives the
  /// output's shape. Throws Error(usage) when the input does not fit, through config.fail().
  virtual Shape setup(const Shape& sample, Plan& plan) = 0;
  /// Fills y (rows, output) from x (rows, input).
  virtual void forward(ConstTensor x, Tensor y, Pass& pass) = 0;
  /// Fills dx and the gradients of the layer's parameters from dy, which it may overwrite. dx is empty when
  /// nobody needs it.
  virtual void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) = 0;
  /// Floating-point operations of forward for one sample, counting what costs: two for each multiply-add; of
  /// the whole layer, whatever part a rank computes.
  virtual std::int64_t flops() const { return 0; }
  /// Called after setup() of a layer whose input is the output of `before` and goes nowhere else.
  virtual void follow(Layer& /*before*/) {}
  /// Where relu is the last thing a layer does, leaves its slope to the layer that follows and says so: dy
  /// has to be 0 from then on where y is 0.
  virtual bool leave_relu_slope() { return false; }
  /// Treats each number by itself, without parameters: any part of the units can be handed to it.
  virtual bool is_elementwise() const { return false; }
};

/// Throws "conv3 does not fit: WHAT, input 32x4x4".
[[noreturn]] void fail_to_fit(const Config& config, const Plan& plan, const Shape& sample,
                              const std::string& what, const std::string& help = "");
/// Fails unless a sample is a map (H, W, C).
void require_map(const Config& config, const Plan& plan, const Shape& sample);

}  // namespace trainer
