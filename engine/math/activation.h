#pragma once

namespace trainer {

/// Elementwise functions that dense and conv can fuse. All have a derivative that follows from the output
/// alone.
enum class Activation { none, relu, sigmoid, tanh };

}  // namespace trainer
