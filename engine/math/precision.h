#pragma once

namespace trainer {

/// How the operands of products and convolutions are rounded; sums are always floats.
enum class Precision {
  float32,
  bf16  ///< to nearest bfloat16 (kernels/bfloat16_pairs.h), by the native engine; the same bits on every CPU
};

/// float32 without a call. Call before layers are made, from one thread. Error(usage) for bf16 if OpenBLAS
/// was chosen by name.
void choose_precision(Precision precision);
Precision precision_in_use();

}  // namespace trainer
