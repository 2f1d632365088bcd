// For processors whose plain instructions have a fused multiply-add.

#include "engine/math/kernels/portable_baseline.h"

namespace trainer {

const Kernels* const portable_baseline = &baseline::kernels;

}  // namespace trainer
