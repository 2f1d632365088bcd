#include "models/layers/fused_activation.h"

#include <algorithm>

#include "engine/math/elementwise.h"

namespace trainer {

void FusedActivation::forward(std::int64_t rows, std::int64_t columns, float* sum, const float* bias,
                              float* y) const {
  if (!derivative_from_input(f_)) {
    if (bias || f_ != Activation::none || sum != y) bias_activate(f_, rows, columns, sum, bias, y);
    return;
  }
  // A few rows at a time, so that the second pass finds them in the cache.
  const std::int64_t at_once = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(columns, 1));
  for (std::int64_t row = 0; row < rows; row += at_once) {
    const std::int64_t here = std::min(at_once, rows - row), first = row * columns;
    if (bias) bias_activate(Activation::none, here, columns, sum + first, bias, sum + first);
    activate_with_derivative(f_, here * columns, sum + first, y + first, sum + first);
  }
}

void FusedActivation::backward(ConstTensor y, Tensor dy, const Pass& pass) const {
  if (derivative_from_input(f_))
    multiply(dy.size(), dy.data(), pass.buffer(derivative_).data(), dy.data());
  else if (f_ != Activation::none)
    activate_backward(f_, dy.size(), y.data(), dy.data(), dy.data());
}

}  // namespace trainer
