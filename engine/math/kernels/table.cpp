#include "engine/math/kernels/kernels.h"

namespace trainer::KERNEL_NAMESPACE {

extern const ElementwiseKernels elementwise_kernels;
extern const NormalizationKernels normalization_kernels;
extern const PoolingKernels pooling_kernels;
extern const ConvolutionKernels convolution_kernels;
extern const DepthwiseKernels depthwise_kernels;
extern const ActivationKernels activation_kernels;
extern const UpdateKernels update_kernels;
extern const SquareSumKernels square_sum_kernels;
extern const AttentionKernels attention_kernels;
extern const RecurrentKernels recurrent_kernels;
extern const GemmKernels gemm_kernels;
extern const ChecksumKernels checksum_kernels;
extern const RandomKernels random_kernels;

extern const Kernels kernels;
const Kernels kernels = {KERNEL_LABEL,         &elementwise_kernels, &normalization_kernels, &pooling_kernels,
                         &convolution_kernels, &depthwise_kernels,   &activation_kernels,    &update_kernels,
                         &square_sum_kernels,  &recurrent_kernels,   &attention_kernels,     &gemm_kernels,
                         &checksum_kernels,    &random_kernels};

}  // namespace trainer::KERNEL_NAMESPACE
