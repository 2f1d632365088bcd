#pragma once

#include <cstdint>

#include "engine/math/activation.h"
#include "engine/math/pooling.h"

// Everything under kernels/ is compiled once per instruction set, in a namespace of its own
// (KERNEL_NAMESPACE), and chosen at run time. So that no instruction leaks into code shared with older CPUs,
// those files include nothing that holds inline functions or templates of external linkage: the linker keeps
// one copy of such a function, perhaps the one compiled for AVX-512.

namespace trainer {

struct ElementwiseKernels {
  void (*activate)(Activation f, std::int64_t count, const float* x, float* y);
  void (*activate_backward)(Activation f, std::int64_t count, const float* y, const float* dy, float* dx);
  void (*bias_activate)(Activation f, std::int64_t rows, std::int64_t columns, const float* x,
                        const float* bias, float* y);
  void (*column_sums)(std::int64_t rows, std::int64_t columns, const float* x, bool accumulate, float* sums);
  void (*leaky_relu)(std::int64_t count, float slope, const float* x, float* y);
  void (*leaky_relu_backward)(std::int64_t count, float slope, const float* x, const float* dy, float* dx);
  void (*add)(std::int64_t count, const float* a, const float* b, float* y);
  void (*scale)(std::int64_t count, float factor, const float* x, float* y);
  void (*multiply)(std::int64_t count, const float* x, const float* mask, float* y);
  void (*softmax)(std::int64_t rows, std::int64_t columns, const float* x, float* y);
  double (*square_sum)(std::int64_t count, const float* x);
  void (*sgd_update)(std::int64_t count, float rate, float momentum, float decay, bool nesterov,
                     const float* gradient, float* velocity, float* weight);
  void (*bytes_to_unit)(std::int64_t count, const std::uint8_t* x, float* y);
};

struct NormalizationKernels {
  void (*channel_sums)(std::int64_t rows, std::int64_t channels, const float* x, double* sums);
  void (*channel_squares)(std::int64_t rows, std::int64_t channels, const float* x, const float* mean,
                          double* squares);
  void (*channel_affine)(std::int64_t rows, std::int64_t channels, const float* x, const float* scale,
                         const float* shift, float* y);
  void (*backward_sums)(std::int64_t rows, std::int64_t channels, const float* x, const float* dy,
                        const float* mean, double* dy_sums, double* dot_sums);
  void (*backward)(std::int64_t rows, std::int64_t channels, const float* x, const float* dy,
                   const float* mean, const float* a, const float* b, const float* d, float* dx);
};

struct PoolingKernels {
  void (*max_pool)(const PoolingGeometry& geometry, std::int64_t images, const float* x, float* y,
                   std::uint8_t* winner);
  void (*max_pool_backward)(const PoolingGeometry& geometry, std::int64_t images, const float* dy,
                            const std::uint8_t* winner, float* dx);
  void (*average_pool)(const PoolingGeometry& geometry, std::int64_t images, const float* x,
                       bool include_padding, float* y);
  void (*average_pool_backward)(const PoolingGeometry& geometry, std::int64_t images, const float* dy,
                                bool include_padding, float* dx);
};

/// All kernels for one instruction set.
struct Kernels {
  const char* name;
  const ElementwiseKernels* elementwise;
  const NormalizationKernels* normalization;
  const PoolingKernels* pooling;
};

/// Those for this CPU, chosen once.
const Kernels& kernels();

/// One instruction set that this build has kernels for.
struct KernelVariant {
  const char* setting;  ///< as in TRAINER_INSTRUCTIONS
  bool (*supported)();
  const Kernels* kernels;
};

/// The variants built for this kind of processor, from the plainest to the fastest; ends with a null setting.
extern const KernelVariant kernel_variants[];

}  // namespace trainer
