#pragma once

namespace trainer {

/// Makes the calling thread, and threads that it starts, treat subnormal values (below 1.2e-38 in single
/// precision) as zero, as inputs and as results. Momentum of weights without gradients decays to such values,
/// and some processors compute with them a hundred times slower. No effect if the processor has no such mode.
void flush_subnormals();
/// Makes the calling thread, and threads that it starts, compute with subnormal values, as IEEE 754 has them.
void keep_subnormals();

}  // namespace trainer
