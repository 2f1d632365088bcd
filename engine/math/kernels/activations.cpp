// See elementwise.cpp about bits.

#include "engine/math/kernels/exponential.h"
#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

void elu(std::int64_t count, float alpha, const float* x, float* y) {
  for_each(count, [=](std::int64_t i) {
    const float e = alpha * exponential_minus_one(x[i] > 0.0f ? 0.0f : x[i]);
    y[i] = x[i] > 0.0f ? x[i] : e;
  });
}

void elu_backward(std::int64_t count, float alpha, const float* y, const float* dy, float* dx) {
  for_each(count, [=](std::int64_t i) { dx[i] = y[i] > 0.0f ? dy[i] : dy[i] * (y[i] + alpha); });
}

void prelu(std::int64_t rows, std::int64_t columns, const float* weight, const float* x, float* y) {
  for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns)
    for_each(columns, [=](std::int64_t i) { y[i] = x[i] > 0.0f ? x[i] : weight[i] * x[i]; });
}

void prelu_backward(std::int64_t rows, std::int64_t columns, const float* weight, const float* x,
                    const float* dy, float* dx, float* terms) {
  for (std::int64_t row = 0; row < rows; ++row, x += columns, dy += columns, terms += columns) {
    if (dx) {
      for_each(columns, [=](std::int64_t i) {
        const float here = dy[i];
        dx[i] = x[i] > 0.0f ? here : weight[i] * here;
        terms[i] = x[i] > 0.0f ? 0.0f : here * x[i];
      });
      dx += columns;
    } else {
      for_each(columns, [=](std::int64_t i) { terms[i] = x[i] > 0.0f ? 0.0f : dy[i] * x[i]; });
    }
  }
}

void power(std::int64_t count, float exponent, const float* x, float* y) {
  for_each(count, [=](std::int64_t i) { y[i] = exponential(exponent * logarithm(x[i])); });
}

}  // namespace

extern const ActivationKernels activation_kernels;
const ActivationKernels activation_kernels = {elu, elu_backward, prelu, prelu_backward, power};

}  // namespace trainer::KERNEL_NAMESPACE
