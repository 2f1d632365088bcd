#include "engine/math/elementwise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace trainer::reference {
namespace {

/// The angle of gelu_tanh.
double gelu_angle(double x) { return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x); }

}  // namespace

void activate(Activation f, std::int64_t count, const float* x, float* y) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(x[i]);
    switch (f) {
      case Activation::none:
        y[i] = x[i];
        break;
      case Activation::relu:
        y[i] = x[i] < 0 ? 0.0f : x[i];
        break;
      case Activation::relu6:
        y[i] = x[i] < 0 ? 0.0f : x[i] > 6 ? 6.0f : x[i];
        break;
      case Activation::sigmoid:
        y[i] = static_cast<float>(1 / (1 + std::exp(-value)));
        break;
      case Activation::tanh:
        y[i] = static_cast<float>(std::tanh(value));
        break;
      case Activation::gelu:
        y[i] = static_cast<float>(value * std::erfc(-value / std::numbers::sqrt2) / 2);
        break;
      case Activation::gelu_tanh:
        y[i] = static_cast<float>(value * (1 + std::tanh(gelu_angle(value))) / 2);
        break;
      case Activation::silu:
        y[i] = static_cast<float>(value / (1 + std::exp(-value)));
        break;
      case Activation::hardswish:
        y[i] = static_cast<float>(value < -3 ? 0 : value > 3 ? value : value * (value + 3) / 6);
        break;
      case Activation::softplus:
        y[i] = static_cast<float>(value > 0 ? value + std::log1p(std::exp(-value))
                                            : std::log1p(std::exp(value)));
        break;
      case Activation::elu:
        y[i] = static_cast<float>(value > 0 ? value : std::expm1(value));
        break;
    }
  }
}

void activate_backward(Activation f, std::int64_t count, const float* y, const float* dy, float* dx) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(y[i]);
    double derivative = 1;
    const bool cuts_below = f == Activation::relu || f == Activation::relu6,
               cuts_above = f == Activation::relu6;
    if ((cuts_below && value <= 0) || (cuts_above && value >= 6)) {
      dx[i] = 0;  // whatever dy is
      continue;
    }
    if (f == Activation::sigmoid) derivative = value * (1 - value);
    if (f == Activation::tanh) derivative = 1 - value * value;
    if (f == Activation::gelu)
      derivative = std::erfc(-value / std::numbers::sqrt2) / 2 +
                   value * std::exp(-value * value / 2) / std::sqrt(2 * std::numbers::pi);
    if (f == Activation::gelu_tanh) {
      const double tangent = std::tanh(gelu_angle(value));
      derivative = (1 + tangent) / 2 + value * (1 - tangent * tangent) / 2 * std::sqrt(2 / std::numbers::pi) *
                                           (1 + 3 * 0.044715 * value * value);
    }
    if (f == Activation::silu) {
      const double sigmoid = 1 / (1 + std::exp(-value));
      derivative = sigmoid * (1 + value * (1 - sigmoid));
    }
    if (f == Activation::hardswish) derivative = value < -3 ? 0 : value > 3 ? 1 : (2 * value + 3) / 6;
    if (f == Activation::softplus) derivative = -std::expm1(-value);
    if (f == Activation::elu && value <= 0) derivative = value + 1;
    dx[i] = static_cast<float>(static_cast<double>(dy[i]) * derivative);
  }
}

void column_sums(std::int64_t rows, std::int64_t columns, const float* x, bool accumulate, float* sums) {
  for (std::int64_t column = 0; column < columns; ++column) {
    double sum = accumulate ? static_cast<double>(sums[column]) : 0;
    for (std::int64_t row = 0; row < rows; ++row) sum += static_cast<double>(x[row * columns + column]);
    sums[column] = static_cast<float>(sum);
  }
}

void softmax(std::int64_t rows, std::int64_t columns, const float* x, float* y) {
  for (std::int64_t row = 0; row < rows && columns > 0; ++row, x += columns, y += columns) {
    const double maximum = static_cast<double>(*std::max_element(x, x + columns));
    double sum = 0;
    for (std::int64_t i = 0; i < columns; ++i) sum += std::exp(static_cast<double>(x[i]) - maximum);
    for (std::int64_t i = 0; i < columns; ++i)
      y[i] = static_cast<float>(std::exp(static_cast<double>(x[i]) - maximum) / sum);
  }
}

}  // namespace trainer::reference
