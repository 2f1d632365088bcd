#pragma once

#include <memory>
#include <string_view>

#include "engine/math/convolution.h"
#include "engine/math/types/activation.h"
#include "models/layers/layer.h"

namespace trainer {

/// A convolution before its input is known.
struct ConvSettings {
  /// Along an image's height and width.
  struct Extents {
    std::int64_t h = 1, w = 1;
  };
  std::int64_t filters = 1;
  Extents kernel = {}, stride = {}, pad = {0, 0}, dilation = {};
  std::int64_t groups = 1;
  bool bias = true;
  Activation activation = Activation::none;
  bool along_time = false;  ///< over a sequence (time, features), as a map of width 1
};

/// y = f(x * w + b), a cross-correlation: (H, W, C) -> (H', W', filters), or (T, C) -> (T', filters). The
/// weight is (kernel h, kernel w, C / groups, filters) in memory.
class Conv final : public Layer {
 public:
  /// `blamed`: the config that an error names when the input does not fit.
  Conv(const ConvSettings& settings, const Config& blamed) : settings_(settings), config_(blamed) {}

  Shape setup(const Shape& sample, Plan& plan) override;
  void forward(ConstTensor x, Tensor y, Pass& pass) override;
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override;
  std::int64_t flops() const override { return flops_; }
  Value trace(Value x, Tracer& tracer) const override;

  bool ends_in_relu() const { return settings_.activation == Activation::relu; }
  /// The next layer applies the derivative of ReLU from now on: dy is 0 where y is 0.
  void leave_relu_backward() { relu_backward_left_ = true; }

 private:
  ConvSettings settings_;
  Config config_;
  bool relu_backward_left_ = false;
  std::unique_ptr<Convolution> convolution_;
  ParameterId weight_, bias_;
  Buffer<> scratch_, sum_;
  Shape output_;
  std::int64_t flops_ = 0;
};

/// The two integers of a key like `kernel: 3` or `kernel: [3, 5]`: height, width.
ConvSettings::Extents extents_of(const Config& config, std::string_view key);

}  // namespace trainer
