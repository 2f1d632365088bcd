#pragma once

namespace trainer {

/// From here on the calling thread, and those that it starts, take numbers below the least normal one
/// (1.2e-38 in single precision) for zero, as inputs and as results. What decays, as momentum does where
/// gradients have become zero, would end among them, and some processors compute with them a hundred times
/// slower. Does nothing where the processor has no such mode.
void flush_subnormals();

}  // namespace trainer
