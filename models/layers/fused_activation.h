#pragma once

#include <cstdint>

#include "engine/math/types/activation.h"
#include "models/layers/pass.h"

namespace trainer {

/// y = f(sum + bias) at the end of a layer that computes sums, and its derivative. Where the derivative does
/// not follow from y, forward keeps it.
class FusedActivation {
 public:
  FusedActivation() = default;
  explicit FusedActivation(Activation f) : f_(f) {}

  /// `size`: elements of one sample.
  void setup(std::int64_t size, Plan& plan) {
    if (derivative_from_input(f_)) derivative_ = plan.activation(size);
  }
  /// Whether backward reads y.
  bool reads_y() const { return f_ != Activation::none && !derivative_from_input(f_); }
  /// Where the layer writes its sums: y itself unless the derivative is kept.
  float* sums(Tensor y, const Pass& pass) const {
    return derivative_from_input(f_) ? pass.buffer(derivative_).data() : y.data();
  }
  /// `sum` is sums(), or where nothing is kept any (rows, columns); `bias`, (columns), may be null.
  void forward(std::int64_t rows, std::int64_t columns, float* sum, const float* bias, float* y) const;
  /// dy becomes the gradient of the sum.
  void backward(ConstTensor y, Tensor dy, const Pass& pass) const;

 private:
  Activation f_ = Activation::none;
  Buffer<> derivative_;
};

}  // namespace trainer
