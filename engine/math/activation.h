#pragma once

namespace trainer {

/// Elementwise functions that dense and conv can fuse. relu6 lies between 0 and 6 (Sandler et al. 2018,
/// "MobileNetV2").
enum class Activation { none, relu, relu6, sigmoid, tanh, gelu, silu, softplus, elu };

/// Whether the derivative is computed from the input; else it follows from the output alone.
constexpr bool derivative_from_input(Activation f) { return f == Activation::gelu || f == Activation::silu; }

}  // namespace trainer
