// Plain loops that the compiler turns into vectors. Without contraction and reassociation an element's bits
// follow from its formula alone, so they are the same in a vector and in its tail, and on every CPU.

#include "engine/math/kernels/exponential.h"
#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"
#include "engine/math/kernels/sixteen.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

inline float relu(float x) { return x < 0.0f ? 0.0f : x; }
/// NaN passes through.
inline float relu6(float x) { return x > 6.0f ? 6.0f : relu(x); }

/// 0 below -3, x above 3.
inline Curve hardswish_curve(float x) {
  constexpr float kSixth = 1.0f / 6;
  const Curve above = {x > 3.0f ? x : x * ((x + 3.0f) * kSixth), x > 3.0f ? 1.0f : (x + x + 3.0f) * kSixth};
  return {x < -3.0f ? 0.0f : above.value, x < -3.0f ? 0.0f : above.derivative};
}

void activate(Activation f, std::int64_t count, const float* x, float* y) {
  switch (f) {
    case Activation::none:
      return for_each(count, [=](std::int64_t i) { y[i] = x[i]; });
    case Activation::relu:
      return for_each(count, [=](std::int64_t i) { y[i] = relu(x[i]); });
    case Activation::relu6:
      return for_each(count, [=](std::int64_t i) { y[i] = relu6(x[i]); });
    case Activation::sigmoid:
      return for_each(count, [=](std::int64_t i) { y[i] = sigmoid(x[i]); });
    case Activation::tanh:
      return for_each(count, [=](std::int64_t i) { y[i] = hyperbolic_tangent(x[i]); });
    case Activation::gelu:
      return for_each(count, [=](std::int64_t i) { y[i] = gelu(x[i]); });
    case Activation::gelu_tanh:
      return for_each(count, [=](std::int64_t i) { y[i] = gelu_tanh_curve(x[i]).value; });
    case Activation::silu:
      return for_each(count, [=](std::int64_t i) { y[i] = silu(x[i]); });
    case Activation::hardswish:
      return for_each(count, [=](std::int64_t i) { y[i] = hardswish_curve(x[i]).value; });
    case Activation::softplus:
      return for_each(count, [=](std::int64_t i) { y[i] = softplus(x[i]); });
    case Activation::elu:
      return for_each(count, [=](std::int64_t i) {
        const float below = exponential_minus_one(x[i] > 0.0f ? 0.0f : x[i]);
        y[i] = x[i] > 0.0f ? x[i] : below;
      });
  }
}

void activate_backward(Activation f, std::int64_t count, const float* y, const float* dy, float* dx) {
  switch (f) {
    case Activation::none:
      return for_each(count, [=](std::int64_t i) { dx[i] = dy[i]; });
    case Activation::relu:
      return for_each(count, [=](std::int64_t i) { dx[i] = y[i] <= 0.0f ? 0.0f : dy[i]; });
    case Activation::relu6:
      return for_each(count, [=](std::int64_t i) {
        const float above = y[i] <= 0.0f ? 0.0f : dy[i];
        dx[i] = y[i] >= 6.0f ? 0.0f : above;
      });
    case Activation::sigmoid:
      return for_each(count, [=](std::int64_t i) { dx[i] = dy[i] * (y[i] * (1.0f - y[i])); });
    case Activation::tanh:
      return for_each(count, [=](std::int64_t i) { dx[i] = dy[i] * (1.0f - y[i] * y[i]); });
    case Activation::gelu:
      return for_each(count, [=](std::int64_t i) { dx[i] = dy[i] * gelu_derivative(y[i]); });
    case Activation::gelu_tanh:
      return for_each(count, [=](std::int64_t i) { dx[i] = dy[i] * gelu_tanh_curve(y[i]).derivative; });
    case Activation::silu:
      return for_each(count, [=](std::int64_t i) { dx[i] = dy[i] * silu_derivative(y[i]); });
    case Activation::hardswish:
      return for_each(count, [=](std::int64_t i) { dx[i] = dy[i] * hardswish_curve(y[i]).derivative; });
    case Activation::softplus:  // sigmoid(x) = 1 - e^-y
      return for_each(count, [=](std::int64_t i) { dx[i] = dy[i] * -exponential_minus_one(-y[i]); });
    case Activation::elu:
      return for_each(count, [=](std::int64_t i) { dx[i] = y[i] > 0.0f ? dy[i] : dy[i] * (y[i] + 1.0f); });
  }
}

void add_bias(std::int64_t rows, std::int64_t columns, const float* x, const float* bias, float* y) {
  for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns)
    for_each(columns, [=](std::int64_t i) { y[i] = x[i] + bias[i]; });
}

void add_bias_relu(std::int64_t rows, std::int64_t columns, const float* x, const float* bias, float* y) {
  for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns)
    for_each(columns, [=](std::int64_t i) { y[i] = relu(x[i] + bias[i]); });
}

void bias_activate(Activation f, std::int64_t rows, std::int64_t columns, const float* x, const float* bias,
                   float* y) {
  if (columns == 0) return;
  if (!bias) return activate(f, rows * columns, x, y);
  if (f == Activation::none) return add_bias(rows, columns, x, bias, y);
  if (f == Activation::relu) return add_bias_relu(rows, columns, x, bias, y);
  // Few rows at a time, so that the second pass finds them in the cache.
  const std::int64_t block = columns < 2048 ? 2048 / columns : 1;
  for (std::int64_t row = 0; row < rows; row += block) {
    const std::int64_t here = rows - row < block ? rows - row : block;
    add_bias(here, columns, x + row * columns, bias, y + row * columns);
    activate(f, here * columns, y + row * columns, y + row * columns);
  }
}

/// Adds the sums of up to 128 rows, `width` columns of them, to `sums`. Four rows are on their way at once.
inline void add_row_block(std::int64_t rows, std::int64_t columns, std::int64_t width, const float* x,
                          double* sums) {
  float partial[4][kColumnBlock] = {};
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4)
    for (int part = 0; part < 4; ++part) {
      const float* from = x + (row + part) * columns;
      for (std::int64_t c = 0; c < width; ++c) partial[part][c] += from[c];
    }
  for (int part = 0; row < rows; ++row, ++part) {
    const float* from = x + row * columns;
    for (std::int64_t c = 0; c < width; ++c) partial[part][c] += from[c];
  }
  for (std::int64_t c = 0; c < width; ++c)
    sums[c] += static_cast<double>((partial[0][c] + partial[1][c]) + (partial[2][c] + partial[3][c]));
}

void column_sums(std::int64_t rows, std::int64_t columns, const float* x, bool accumulate, float* sums) {
  constexpr std::int64_t kRowBlock = 128;  // few enough for float, the rest is added up in double
  for_each_column_block(columns, [=](std::int64_t first, auto width) {
    double totals[kColumnBlock] = {};
    for (std::int64_t row = 0; row < rows; row += kRowBlock)
      add_row_block(rows - row < kRowBlock ? rows - row : kRowBlock, columns, width,
                    x + row * columns + first, totals);
    for (std::int64_t c = 0; c < width; ++c)
      sums[first + c] =
          static_cast<float>(accumulate ? static_cast<double>(sums[first + c]) + totals[c] : totals[c]);
  });
}

void leaky_relu(std::int64_t count, float negative_slope, const float* x, float* y) {
  for_each(count, [=](std::int64_t i) { y[i] = x[i] > 0.0f ? x[i] : negative_slope * x[i]; });
}

void leaky_relu_backward(std::int64_t count, float negative_slope, const float* x, const float* dy,
                         float* dx) {
  for_each(count, [=](std::int64_t i) { dx[i] = x[i] > 0.0f ? dy[i] : negative_slope * dy[i]; });
}

void add(std::int64_t count, const float* a, const float* b, float* y) {
  for_each(count, [=](std::int64_t i) { y[i] = a[i] + b[i]; });
}

void scale(std::int64_t count, float factor, const float* x, float* y) {
  for_each(count, [=](std::int64_t i) { y[i] = factor * x[i]; });
}

void multiply(std::int64_t count, const float* x, const float* mask, float* y) {
  for_each(count, [=](std::int64_t i) { y[i] = x[i] * mask[i]; });
}

void softmax(std::int64_t rows, std::int64_t columns, const float* x, float* y) {
  if (columns == 0) return;
  // Rows may be short: the exponentials of several of them make one long loop.
  const std::int64_t block = columns < 2048 ? 2048 / columns : 1;
  for (std::int64_t first = 0; first < rows; first += block) {
    const std::int64_t here = rows - first < block ? rows - first : block;
    float* const out = y + first * columns;
    for (std::int64_t row = 0; row < here; ++row) {
      const float* from = x + (first + row) * columns;
      float* to = out + row * columns;
      const float maximum = largest_of(columns, from);
      for_each(columns, [=](std::int64_t i) { to[i] = from[i] - maximum; });
    }
    for_each(here * columns, [=](std::int64_t i) { out[i] = exponential(out[i]); });
    for (std::int64_t row = 0; row < here; ++row) {
      float* to = out + row * columns;
      const float factor = 1.0f / row_sum(columns, to);
      for_each(columns, [=](std::int64_t i) { to[i] *= factor; });
    }
  }
}

float softmax_rest(std::int64_t columns, const float* x, const float* probabilities, float* largest) {
  const float peak = largest_of(columns, x);
  *largest = peak;
  Sixteen rest = {}, peaks = {};
  for_each_sixteen(columns, [&rest, &peaks, x, probabilities, peak](const Neighbours& here) {
    const Sixteen logits = here.of(x, __builtin_nanf("")), others = here.of(probabilities, 0.0f);
    rest += each([peak](const Vector& at, const Vector& other) { return at == peak ? Vector{} : other; },
                 logits, others);
    peaks += each([peak](const Vector& at) { return at == peak ? Vector{} + 1.0f : Vector{}; }, logits);
  });
  // Of equal largest ones all but one belong to the rest.
  return sum_of(rest) / largest_of(columns, probabilities) + (sum_of(peaks) - 1.0f);
}

float softmax_spread(std::int64_t columns, const float* x, float largest, const float* weights) {
  Sixteen sums = {};
  for_each_sixteen(columns, [&sums, x, largest, weights](const Neighbours& here) {
    const Sixteen below = each([largest](const Vector& at) { return largest - at; }, here.of(x, largest));
    sums += weights ? below * here.of(weights, 0.0f) : below;
  });
  return sum_of(sums);
}

void softmax_spread_gradient(std::int64_t columns, float factor, float share, const float* weights,
                             float* gradient) {
  if (weights)
    for_each(columns, [=](std::int64_t i) { gradient[i] = factor * gradient[i] - share * weights[i]; });
  else
    for_each(columns, [=](std::int64_t i) { gradient[i] = factor * gradient[i] - share; });
}

void sigmoid_cross_entropy(std::int64_t count, float scale, const float* x, const float* target, float* loss,
                           float* dx) {
  for_each(count, [=](std::int64_t i) {
    const float logit = x[i], expected = target[i];
    const float e = exponential_below_zero(-__builtin_fabsf(logit));
    const float rest = e / (1.0f + e);  // 1 - s(|x|)
    const float near_one = (1.0f - expected) - rest, near_zero = rest - expected;
    loss[i] = ((logit < 0.0f ? 0.0f : logit) - logit * expected) + twice_inverse_tanh(e / (2.0f + e));
    dx[i] = scale * (logit < 0.0f ? near_zero : near_one);
  });
}

void activate_with_derivative(Activation f, std::int64_t count, const float* x, float* y, float* derivative) {
  const auto follow = [=](auto curve_at) {
    for_each(count, [=](std::int64_t i) {
      const Curve curve = curve_at(x[i]);
      y[i] = curve.value;
      derivative[i] = curve.derivative;
    });
  };
  if (f == Activation::gelu) return follow([](float at) { return gelu_curve(at); });
  if (f == Activation::gelu_tanh) return follow([](float at) { return gelu_tanh_curve(at); });
  if (f == Activation::hardswish) return follow([](float at) { return hardswish_curve(at); });
  follow([](float at) { return silu_curve(at); });
}

void bytes_to_unit(std::int64_t count, const std::uint8_t* x, float* y) {
  // Division is slow on many processors. 1 / 255 in two parts, the first with so few bits that its product
  // with a byte is exact, gives the same bits.
  constexpr float kFirst = 0x1.01p-8f, kRest = static_cast<float>(1.0 / 255 - 0x1.01p-8);
  for_each(count, [=](std::int64_t i) {
    const float byte = static_cast<float>(x[i]);
    y[i] = byte * kFirst + byte * kRest;
  });
}

/// The upper half holds the value, rounded to nearest even.
inline std::uint32_t rounded_bits(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t finite = bits + 0x7fff + (bits >> 16 & 1);
  return (bits & 0x7fffffff) > 0x7f800000 ? bits | 0x400000 : finite;
}

void store_bfloat16(std::int64_t count, float* x, std::uint16_t* stored) {
  for_each(count, [=](std::int64_t i) {
    const std::uint32_t bits = rounded_bits(x[i]);
    stored[i] = static_cast<std::uint16_t>(bits >> 16);
    x[i] = __builtin_bit_cast(float, bits & 0xffff0000);
  });
}

void load_bfloat16(std::int64_t count, const std::uint16_t* stored, float* x) {
  for_each(count, [=](std::int64_t i) {
    x[i] = __builtin_bit_cast(float, static_cast<std::uint32_t>(stored[i]) << 16);
  });
}

}  // namespace

extern const ElementwiseKernels elementwise_kernels;
const ElementwiseKernels elementwise_kernels = {activate,
                                                activate_backward,
                                                bias_activate,
                                                column_sums,
                                                leaky_relu,
                                                leaky_relu_backward,
                                                add,
                                                scale,
                                                multiply,
                                                softmax,
                                                softmax_rest,
                                                softmax_spread,
                                                softmax_spread_gradient,
                                                sigmoid_cross_entropy,
                                                activate_with_derivative,
                                                bytes_to_unit,
                                                store_bfloat16,
                                                load_bfloat16};

}  // namespace trainer::KERNEL_NAMESPACE
