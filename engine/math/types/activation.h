#pragma once

namespace trainer {

/// Elementwise functions that a product or a convolution can apply to its output. relu6 is min(max(x, 0), 6)
/// (Sandler et al. 2018, "MobileNetV2"), hardswish is x relu6(x + 3) / 6 (Howard et al. 2019, "MobileNetV3").
enum class Activation { none, relu, relu6, sigmoid, tanh, gelu, gelu_tanh, silu, hardswish, softplus, elu };

/// True if the derivative needs the input; else the output gives it.
constexpr bool derivative_from_input(Activation f) {
  return f == Activation::gelu || f == Activation::gelu_tanh || f == Activation::silu ||
         f == Activation::hardswish;
}

}  // namespace trainer
