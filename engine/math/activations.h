#pragma once

#include <cstdint>

namespace trainer {

// Activations with settings, which no layer fuses. The rules of elementwise.h hold.

/// x where x > 0, alpha (e^x - 1) elsewhere (Clevert et al. 2016); backward requires y.
void elu(std::int64_t count, float alpha, const float* x, float* y);
void elu_backward(std::int64_t count, float alpha, const float* y, const float* dy, float* dx);

/// x where x > 0, weight[column] x elsewhere, on (rows, columns) (He et al. 2015).
void prelu(std::int64_t rows, std::int64_t columns, const float* weight, const float* x, float* y);
/// dx may be null; terms, whose column sums are the weights' gradients, may be dy.
void prelu_backward(std::int64_t rows, std::int64_t columns, const float* weight, const float* x,
                    const float* dy, float* dx, float* terms);

/// y = x^exponent for x > 0
void power(std::int64_t count, float exponent, const float* x, float* y);

}  // namespace trainer
