#pragma once

#include "engine/math/kernels/kernels.h"

namespace trainer {

namespace baseline {
extern const Kernels kernels;
}

/// The kernels `baseline` with fused multiply-adds: in software_baseline.cpp or fused_baseline.cpp.
extern const Kernels* const portable_baseline;

}  // namespace trainer
