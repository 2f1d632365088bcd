#include "engine/math/kernels/kernels.h"

namespace trainer::KERNEL_NAMESPACE {

extern const GemmKernels* const gemm_kernels;
const GemmKernels* const gemm_kernels = nullptr;

}  // namespace trainer::KERNEL_NAMESPACE
