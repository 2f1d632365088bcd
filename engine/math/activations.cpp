#include "engine/math/activations.h"

#include "engine/math/kernels/kernels.h"

namespace trainer {

void elu(std::int64_t count, float alpha, const float* x, float* y) {
  kernels().activations->elu(count, alpha, x, y);
}
void elu_backward(std::int64_t count, float alpha, const float* y, const float* dy, float* dx) {
  kernels().activations->elu_backward(count, alpha, y, dy, dx);
}
void prelu(std::int64_t rows, std::int64_t columns, const float* weight, const float* x, float* y) {
  kernels().activations->prelu(rows, columns, weight, x, y);
}
void prelu_backward(std::int64_t rows, std::int64_t columns, const float* weight, const float* x,
                    const float* dy, float* dx, float* terms) {
  kernels().activations->prelu_backward(rows, columns, weight, x, dy, dx, terms);
}
void power(std::int64_t count, float exponent, const float* x, float* y) {
  kernels().activations->power(count, exponent, x, y);
}

}  // namespace trainer
