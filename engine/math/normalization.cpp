#include "engine/math/normalization.h"

#include "engine/math/kernels/kernels.h"

namespace trainer {

void channel_sums(std::int64_t rows, std::int64_t channels, const float* x, double* sums) {
  kernels().normalization->channel_sums(rows, channels, x, sums);
}

void channel_squares(std::int64_t rows, std::int64_t channels, const float* x, const float* mean,
                     double* squares) {
  kernels().normalization->channel_squares(rows, channels, x, mean, squares);
}

void channel_affine(std::int64_t rows, std::int64_t channels, const float* x, const float* scale,
                    const float* shift, float* y) {
  kernels().normalization->channel_affine(rows, channels, x, scale, shift, y);
}

void batch_norm_backward_sums(std::int64_t rows, std::int64_t channels, const float* x, const float* dy,
                              const float* mean, double* dy_sums, double* dot_sums) {
  kernels().normalization->backward_sums(rows, channels, x, dy, mean, dy_sums, dot_sums);
}

void batch_norm_backward(std::int64_t rows, std::int64_t channels, const float* x, const float* dy,
                         const float* mean, const float* a, const float* b, const float* d, float* dx) {
  kernels().normalization->backward(rows, channels, x, dy, mean, a, b, d, dx);
}

}  // namespace trainer
