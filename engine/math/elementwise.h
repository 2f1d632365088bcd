#pragma once

#include <cstdint>

#include "engine/core/bfloat16.h"
#include "engine/math/types/activation.h"

namespace trainer {

// The bits of an element do not depend on its place in the array: vector code and its tail give the same. NaN
// stays NaN. Arrays may be identical, but may not overlap otherwise.

/// y = f(x)
void activate(Activation f, std::int64_t count, const float* x, float* y);
/// dx = dy * f'(x), from y = f(x), or from x where derivative_from_input(f)
void activate_backward(Activation f, std::int64_t count, const float* x_or_y, const float* dy, float* dx);

/// y = f(x), derivative = f'(x), which may be x; only if derivative_from_input(f)
void activate_with_derivative(Activation f, std::int64_t count, const float* x, float* y, float* derivative);

/// y = f(x + bias) on (rows, columns), bias (columns) or null
void bias_activate(Activation f, std::int64_t rows, std::int64_t columns, const float* x, const float* bias,
                   float* y);
/// sums[c] (+)= sum over rows of x[r, c]; added to when `accumulate`
void column_sums(std::int64_t rows, std::int64_t columns, const float* x, bool accumulate, float* sums);

void leaky_relu(std::int64_t count, float negative_slope, const float* x, float* y);
void leaky_relu_backward(std::int64_t count, float negative_slope, const float* x, const float* dy,
                         float* dx);

/// y = a + b
void add(std::int64_t count, const float* a, const float* b, float* y);
/// y += a
void accumulate(std::int64_t count, const float* a, float* y);
/// y = factor x
void scale(std::int64_t count, float factor, const float* x, float* y);
/// y = x * mask
void multiply(std::int64_t count, const float* x, const float* mask, float* y);

/// Softmax of each row, shifted by the row's maximum.
void softmax(std::int64_t rows, std::int64_t columns, const float* x, float* y);
/// Of a row x and its softmax: the sum of e^(x - largest) without the largest itself, and the largest x.
float softmax_rest(std::int64_t columns, const float* x, const float* probabilities, float* largest);
/// The sum of weights * (largest - x). Null `weights`, here and below: all are 1.
float softmax_spread(std::int64_t columns, const float* x, float largest, const float* weights);
/// gradient = factor * gradient - share * weights
void softmax_spread_gradient(std::int64_t columns, float factor, float share, const float* weights,
                             float* gradient);

/// loss = -target log s(x) - (1 - target) log(1 - s(x)) with s the logistic function, dx = scale * its
/// derivative. Small losses and gradients keep their digits.
void sigmoid_cross_entropy(std::int64_t count, float scale, const float* x, const float* target, float* loss,
                           float* dx);

/// Bytes of pixels to values from 0 to 1: y = x / 255.
void bytes_to_unit(std::int64_t count, const std::uint8_t* x, float* y);

/// Rounds x to values of bfloat16, and stores these.
void store_bfloat16(std::int64_t count, float* x, Bfloat16* stored);
void load_bfloat16(std::int64_t count, const Bfloat16* stored, float* x);

namespace reference {
void activate(Activation f, std::int64_t count, const float* x, float* y);
void activate_backward(Activation f, std::int64_t count, const float* y, const float* dy, float* dx);
void column_sums(std::int64_t rows, std::int64_t columns, const float* x, bool accumulate, float* sums);
void softmax(std::int64_t rows, std::int64_t columns, const float* x, float* y);
}  // namespace reference

}  // namespace trainer
