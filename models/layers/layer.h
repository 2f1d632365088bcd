#pragma once

#include "engine/config/registry.h"
#include "engine/core/tensor.h"
#include "models/layers/pass.h"
#include "models/layers/plan.h"

namespace trainer {

/// Largest extent of a filter or a window along one axis, and of its stride and padding.
inline constexpr double kMaxExtent = 1e6;

class Tracer;
struct Value;

/// One operation of a network: one tensor in, one out. Holds settings and what it booked in setup(); never
/// activations, optimizers, data or processes. Several threads call one layer at once, each with its own
/// Pass.
class Layer {
 public:
  static constexpr const char* kFamily = "layer";
  virtual ~Layer() = default;

  /// Checks the input's shape (of one sample; maps are (H, W, C)), books parameters, states and memory,
  /// returns the output's shape. Throws Error(usage) through config.fail() when the input does not fit.
  virtual Shape setup(const Shape& sample, Plan& plan) = 0;
  /// Fills y (rows, output) from x (rows, input).
  virtual void forward(ConstTensor x, Tensor y, Pass& pass) = 0;
  /// Fills dx and the gradients of the layer's parameters from dy, which it may overwrite. dx is empty when
  /// no layer needs it.
  virtual void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) = 0;
  /// Floating-point operations of forward for one sample, two for each multiply-add that counts; of the whole
  /// layer, also where a rank holds a shard.
  virtual std::int64_t flops() const { return 0; }
  /// Adds what the layer computes in evaluation to tracer.graph, for x with the layout of files; returns y.
  /// Error(usage) if ONNX's operators cannot express it.
  virtual Value trace(Value x, Tracer& tracer) const;
  /// Maps each element by itself, without parameters, so that it works on any shard of the units.
  virtual bool is_elementwise() const { return false; }
  /// After setup: in evaluation y at a position depends on x at that position and those before it alone, and
  /// forward computes it also where rows are positions (Plan::is_stepwise). x and y are (positions,
  /// features).
  virtual bool is_stepwise() const { return is_elementwise(); }
  /// After setup: y at a position depends on x of its own document alone, where rows hold several
  /// (Pass::is_packed).
  virtual bool separates_documents() const { return is_stepwise(); }
};

/// Throws "conv3 does not fit: WHAT, input 32x4x4".
[[noreturn]] void fail_to_fit(const Config& config, const Plan& plan, const Shape& sample,
                              const std::string& what, const std::string& help = "");
/// Fails unless a sample is a map (H, W, C).
void require_map(const Config& config, const Plan& plan, const Shape& sample);

}  // namespace trainer
