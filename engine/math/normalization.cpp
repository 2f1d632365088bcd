#include "engine/math/normalization.h"

#include <algorithm>

#include "engine/math/kernels/kernels.h"

namespace trainer {

void channel_moments(std::int64_t rows, std::int64_t channels, const float* x, double* sums,
                     double* squares) {
  kernels().normalization->channel_moments(rows, channels, x, sums, squares);
}

double variance_of(double sum, double squares, double count) {
  const double mean = sum / count;
  return std::max(squares / count - mean * mean, 0.0);
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

void layer_norm(std::int64_t rows, std::int64_t columns, const float* x, const float* weight,
                const float* bias, float epsilon, float* y, float* mean, float* inverse_deviation) {
  kernels().normalization->layer_norm(rows, columns, x, weight, bias, epsilon, y, mean, inverse_deviation);
}

void layer_norm_gradients(std::int64_t rows, std::int64_t columns, const float* x, const float* dy,
                          const float* mean, const float* inverse_deviation, float* dweight, float* dbias) {
  kernels().normalization->layer_norm_gradients(rows, columns, x, dy, mean, inverse_deviation, dweight,
                                                dbias);
}

void layer_norm_backward(std::int64_t rows, std::int64_t columns, const float* x, const float* dy,
                         const float* mean, const float* inverse_deviation, const float* weight, float* dx) {
  kernels().normalization->layer_norm_backward(rows, columns, x, dy, mean, inverse_deviation, weight, dx);
}

}  // namespace trainer
