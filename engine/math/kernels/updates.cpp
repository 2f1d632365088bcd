// Steps of optimizers: plain loops, see elementwise.cpp about their bits.

#include "engine/math/updates.h"

#include "engine/math/kernels/bit_sum.h"
#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

template <bool sums_up>
void adam_with(std::int64_t count, const AdamStep& s, const float* gradient, float* mean, float* square,
               float* weight, UpdateSums* sums) {
  const float rest1 = 1.0f - s.beta1, rest2 = 1.0f - s.beta2;
  BitSum<sums_up> weights, means, squares;
  for_each(count, [=, &weights, &means, &squares](std::int64_t i) {
    const float old = weights.was(weight[i]);
    const float w = old - s.shrink * old;
    const float slope = gradient[i] + s.decay * w;
    const float m = means.becomes(s.beta1 * means.was(mean[i]) + rest1 * slope);
    const float v = squares.becomes(s.beta2 * squares.was(square[i]) + rest2 * (slope * slope));
    mean[i] = m;
    square[i] = v;
    weight[i] = weights.becomes(w - s.rate * m / (__builtin_sqrtf(v) / s.root_correction + s.epsilon));
  });
  weights.tell(0, sums);
  means.tell(1, sums);
  squares.tell(2, sums);
}

void adam(std::int64_t count, const AdamStep& step, const float* gradient, float* mean, float* square,
          float* weight, UpdateSums* sums) {
  const AdamStep s = step;
  (sums ? adam_with<true> : adam_with<false>)(count, s, gradient, mean, square, weight, sums);
}

/// with_mean, with_momentum: whether those arrays are there.
template <bool with_mean, bool with_momentum>
void rmsprop_with(std::int64_t count, const RmspropStep& s, const float* gradient, float* square, float* mean,
                  float* velocity, float* weight) {
  const float rest = 1.0f - s.smoothing;
  for_each(count, [=](std::int64_t i) {
    const float slope = gradient[i] + s.decay * weight[i];
    const float v = s.smoothing * square[i] + rest * (slope * slope);
    square[i] = v;
    float variance = v;
    if constexpr (with_mean) {
      const float m = s.smoothing * mean[i] + rest * slope;
      mean[i] = m;
      variance = v - m * m;
      variance = variance < 0.0f ? 0.0f : variance;  // where only rounding is left
    }
    float move = slope / (__builtin_sqrtf(variance) + s.epsilon);
    if constexpr (with_momentum) {
      move = s.momentum * velocity[i] + move;
      velocity[i] = move;
    }
    weight[i] -= s.rate * move;
  });
}

void rmsprop(std::int64_t count, const RmspropStep& step, const float* gradient, float* square, float* mean,
             float* velocity, float* weight) {
  const auto update = mean ? (velocity ? rmsprop_with<true, true> : rmsprop_with<true, false>)
                           : (velocity ? rmsprop_with<false, true> : rmsprop_with<false, false>);
  update(count, step, gradient, square, mean, velocity, weight);
}

void adagrad(std::int64_t count, const AdagradStep& step, const float* gradient, float* sum, float* weight) {
  const AdagradStep s = step;
  for_each(count, [=](std::int64_t i) {
    const float slope = gradient[i] + s.decay * weight[i];
    const float squares = sum[i] + slope * slope;
    sum[i] = squares;
    weight[i] -= s.rate * slope / (__builtin_sqrtf(squares) + s.epsilon);
  });
}

void adadelta(std::int64_t count, const AdadeltaStep& step, const float* gradient, float* square,
              float* delta, float* weight) {
  const AdadeltaStep s = step;
  const float rest = 1.0f - s.rho;
  for_each(count, [=](std::int64_t i) {
    const float slope = gradient[i] + s.decay * weight[i];
    const float v = s.rho * square[i] + rest * (slope * slope);
    const float move = __builtin_sqrtf(delta[i] + s.epsilon) / __builtin_sqrtf(v + s.epsilon) * slope;
    square[i] = v;
    delta[i] = s.rho * delta[i] + rest * (move * move);
    weight[i] -= s.rate * move;
  });
}

void lion(std::int64_t count, const LionStep& step, const float* gradient, float* mean, float* weight) {
  const LionStep s = step;
  const float rest1 = 1.0f - s.beta1, rest2 = 1.0f - s.beta2;
  for_each(count, [=](std::int64_t i) {
    const float way = s.beta1 * mean[i] + rest1 * gradient[i];
    // A NaN is neither above nor below zero, and must not pass for zero.
    const float sign = way > 0.0f ? 1.0f : way < 0.0f ? -1.0f : way;
    mean[i] = s.beta2 * mean[i] + rest2 * gradient[i];
    weight[i] = (weight[i] - s.shrink * weight[i]) - s.rate * sign;
  });
}

void lars(std::int64_t count, const LarsStep& step, const float* gradient, float* velocity, float* weight) {
  const LarsStep s = step;
  for_each(count, [=](std::int64_t i) {
    const float move = s.momentum * velocity[i] + s.rate * (gradient[i] + s.decay * weight[i]);
    velocity[i] = move;
    weight[i] -= move;
  });
}

void lamb(std::int64_t count, const LambDirection& step, const float* gradient, float* mean, float* square,
          const float* weight, float* direction) {
  const LambDirection s = step;
  const float rest1 = 1.0f - s.beta1, rest2 = 1.0f - s.beta2;
  for_each(count, [=](std::int64_t i) {
    const float m = s.beta1 * mean[i] + rest1 * gradient[i];
    const float v = s.beta2 * square[i] + rest2 * (gradient[i] * gradient[i]);
    mean[i] = m;
    square[i] = v;
    direction[i] =
        s.correction * m / (__builtin_sqrtf(v) / s.root_correction + s.epsilon) + s.decay * weight[i];
  });
}

void average(std::int64_t count, float keep, const float* x, float* mean) {
  const float rest = 1.0f - keep;
  for_each(count, [=](std::int64_t i) { mean[i] = keep * mean[i] + rest * x[i]; });
}

void clamp(std::int64_t count, float limit, float* x) {
  for_each(count, [=](std::int64_t i) { x[i] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i]; });
}

}  // namespace

extern const UpdateKernels update_kernels;
const UpdateKernels update_kernels = {adam, rmsprop, adagrad, adadelta, lion, lars, lamb, average, clamp};

}  // namespace trainer::KERNEL_NAMESPACE
