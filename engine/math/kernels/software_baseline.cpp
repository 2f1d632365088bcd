// For processors whose plain instructions have no fused multiply-add: sums of products in software.

#include "engine/math/kernels/portable_baseline.h"

namespace trainer {

namespace software {
extern const ConvolutionKernels convolution_kernels;
extern const DepthwiseKernels depthwise_kernels;
extern const GemmKernels gemm_kernels;
}  // namespace software

namespace baseline {
extern const ElementwiseKernels elementwise_kernels;
extern const NormalizationKernels normalization_kernels;
extern const PoolingKernels pooling_kernels;
extern const ActivationKernels activation_kernels;
extern const UpdateKernels update_kernels;
extern const SquareSumKernels square_sum_kernels;
extern const AttentionKernels attention_kernels;
extern const RecurrentKernels recurrent_kernels;
extern const ChecksumKernels checksum_kernels;
extern const RandomKernels random_kernels;
}  // namespace baseline

namespace {
const Kernels table = {"baseline",
                       &baseline::elementwise_kernels,
                       &baseline::normalization_kernels,
                       &baseline::pooling_kernels,
                       &software::convolution_kernels,
                       &software::depthwise_kernels,
                       &baseline::activation_kernels,
                       &baseline::update_kernels,
                       &baseline::square_sum_kernels,
                       &baseline::recurrent_kernels,
                       &baseline::attention_kernels,
                       &software::gemm_kernels,
                       &baseline::checksum_kernels,
                       &baseline::random_kernels};
}  // namespace

const Kernels* const portable_baseline = &table;

}  // namespace trainer
