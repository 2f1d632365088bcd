#include "engine/math/elementwise.h"

#include "engine/math/kernels/kernels.h"

namespace trainer {

void activate(Activation f, std::int64_t count, const float* x, float* y) {
  kernels().elementwise->activate(f, count, x, y);
}

void activate_backward(Activation f, std::int64_t count, const float* y, const float* dy, float* dx) {
  kernels().elementwise->activate_backward(f, count, y, dy, dx);
}

void bias_activate(Activation f, std::int64_t rows, std::int64_t columns, const float* x, const float* bias,
                   float* y) {
  kernels().elementwise->bias_activate(f, rows, columns, x, bias, y);
}

void column_sums(std::int64_t rows, std::int64_t columns, const float* x, bool accumulate, float* sums) {
  kernels().elementwise->column_sums(rows, columns, x, accumulate, sums);
}

void leaky_relu(std::int64_t count, float negative_slope, const float* x, float* y) {
  kernels().elementwise->leaky_relu(count, negative_slope, x, y);
}

void leaky_relu_backward(std::int64_t count, float negative_slope, const float* x, const float* dy,
                         float* dx) {
  kernels().elementwise->leaky_relu_backward(count, negative_slope, x, dy, dx);
}

void add(std::int64_t count, const float* a, const float* b, float* y) {
  kernels().elementwise->add(count, a, b, y);
}

void accumulate(std::int64_t count, const float* a, float* y) { kernels().elementwise->add(count, y, a, y); }

void scale(std::int64_t count, float factor, const float* x, float* y) {
  kernels().elementwise->scale(count, factor, x, y);
}

void multiply(std::int64_t count, const float* x, const float* mask, float* y) {
  kernels().elementwise->multiply(count, x, mask, y);
}

void softmax(std::int64_t rows, std::int64_t columns, const float* x, float* y) {
  kernels().elementwise->softmax(rows, columns, x, y);
}

float softmax_rest(std::int64_t columns, const float* x, const float* probabilities, float* largest) {
  return kernels().elementwise->softmax_rest(columns, x, probabilities, largest);
}

float softmax_spread(std::int64_t columns, const float* x, float largest, const float* weights) {
  return kernels().elementwise->softmax_spread(columns, x, largest, weights);
}

void softmax_spread_gradient(std::int64_t columns, float factor, float share, const float* weights,
                             float* gradient) {
  kernels().elementwise->softmax_spread_gradient(columns, factor, share, weights, gradient);
}

void sigmoid_cross_entropy(std::int64_t count, float scale, const float* x, const float* target, float* loss,
                           float* dx) {
  kernels().elementwise->sigmoid_cross_entropy(count, scale, x, target, loss, dx);
}

void activate_with_derivative(Activation f, std::int64_t count, const float* x, float* y, float* derivative) {
  kernels().elementwise->activate_with_derivative(f, count, x, y, derivative);
}

void bytes_to_unit(std::int64_t count, const std::uint8_t* x, float* y) {
  kernels().elementwise->bytes_to_unit(count, x, y);
}

// The kernels see the bits alone, since functions of shared headers may not be compiled for a processor.
static_assert(sizeof(Bfloat16) == sizeof(std::uint16_t));

void store_bfloat16(std::int64_t count, float* x, Bfloat16* stored) {
  kernels().elementwise->store_bfloat16(count, x, &stored->bits);
}

void load_bfloat16(std::int64_t count, const Bfloat16* stored, float* x) {
  kernels().elementwise->load_bfloat16(count, &stored->bits, x);
}

}  // namespace trainer
