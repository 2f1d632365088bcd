// Steps of optimizers: plain loops; elementwise.cpp states why their bits do not depend on the CPU.

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"
#include "engine/math/kernels/two_vectors.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

void sgd(std::int64_t count, const SgdStep& s, const float* gradient, float* velocity, float* weight) {
  const float rate = s.rate, momentum = s.momentum, decay = s.decay;
  if (!velocity)
    for_each_two_vectors(count, [=](auto kind, std::int64_t i) {
      const auto w = kind.stream(weight + i);
      kind.write(w - rate * (kind.stream(gradient + i) + decay * w), weight + i);
    });
  else if (s.nesterov)
    for_each_two_vectors(count, [=](auto kind, std::int64_t i) {
      const auto w = kind.stream(weight + i);
      const auto decayed = kind.stream(gradient + i) + decay * w;
      const auto v = momentum * kind.stream(velocity + i) + decayed;
      kind.write(v, velocity + i);
      kind.write(w - rate * (decayed + momentum * v), weight + i);
    });
  else
    for_each_two_vectors(count, [=](auto kind, std::int64_t i) {
      const auto w = kind.stream(weight + i);
      const auto v = momentum * kind.stream(velocity + i) + (kind.stream(gradient + i) + decay * w);
      kind.write(v, velocity + i);
      kind.write(w - rate * v, weight + i);
    });
}

void adam(std::int64_t count, const AdamStep& s, const float* gradient, float* mean, float* square,
          float* weight) {
  const float rest1 = 1.0f - s.beta1, rest2 = 1.0f - s.beta2;
  for_each_two_vectors(count, [=](auto kind, std::int64_t i) {
    const auto old = kind.stream(weight + i);
    const auto w = old - s.shrink * old;
    const auto decayed = kind.stream(gradient + i) + s.decay * w;
    const auto m = s.beta1 * kind.stream(mean + i) + rest1 * decayed;
    const auto v = s.beta2 * kind.stream(square + i) + rest2 * (decayed * decayed);
    kind.write(m, mean + i);
    kind.write(v, square + i);
    kind.write(w - s.rate * m / (root(v) + s.epsilon), weight + i);
  });
}

/// with_mean, with_momentum: true if those arrays are there.
template <bool with_mean, bool with_momentum>
void rmsprop_with(std::int64_t count, const RmspropStep& s, const float* gradient, float* square, float* mean,
                  float* velocity, float* weight) {
  const float rest = 1.0f - s.smoothing;
  for_each(count, [=](std::int64_t i) {
    const float w = weight[i];
    const float decayed = gradient[i] + s.decay * w;
    const float v = s.smoothing * square[i] + rest * (decayed * decayed);
    square[i] = v;
    float variance = v;
    if constexpr (with_mean) {
      const float m = s.smoothing * mean[i] + rest * decayed;
      mean[i] = m;
      variance = v - m * m;
      variance = variance < 0.0f ? 0.0f : variance;  // rounding may leave less than zero
    }
    float move = decayed / (__builtin_sqrtf(variance) + s.epsilon);
    if constexpr (with_momentum) {
      move = s.momentum * velocity[i] + move;
      velocity[i] = move;
    }
    weight[i] = w - s.rate * move;
  });
}

void rmsprop(std::int64_t count, const RmspropStep& step, const float* gradient, float* square, float* mean,
             float* velocity, float* weight) {
  const auto update = mean ? (velocity ? rmsprop_with<true, true> : rmsprop_with<true, false>)
                           : (velocity ? rmsprop_with<false, true> : rmsprop_with<false, false>);
  update(count, step, gradient, square, mean, velocity, weight);
}

void adagrad(std::int64_t count, const AdagradStep& s, const float* gradient, float* sum, float* weight) {
  for_each(count, [=](std::int64_t i) {
    const float w = weight[i];
    const float decayed = gradient[i] + s.decay * w;
    const float squares = sum[i] + decayed * decayed;
    sum[i] = squares;
    weight[i] = w - s.rate * decayed / (__builtin_sqrtf(squares) + s.epsilon);
  });
}

void adadelta(std::int64_t count, const AdadeltaStep& s, const float* gradient, float* square, float* delta,
              float* weight) {
  const float rest = 1.0f - s.rho;
  for_each(count, [=](std::int64_t i) {
    const float w = weight[i], d = delta[i];
    const float decayed = gradient[i] + s.decay * w;
    const float v = s.rho * square[i] + rest * (decayed * decayed);
    const float move = __builtin_sqrtf(d + s.epsilon) / __builtin_sqrtf(v + s.epsilon) * decayed;
    square[i] = v;
    delta[i] = s.rho * d + rest * (move * move);
    weight[i] = w - s.rate * move;
  });
}

void lion(std::int64_t count, const LionStep& s, const float* gradient, float* mean, float* weight) {
  const float rest1 = 1.0f - s.beta1, rest2 = 1.0f - s.beta2;
  for_each(count, [=](std::int64_t i) {
    const float w = weight[i], m = mean[i];
    const float way = s.beta1 * m + rest1 * gradient[i];
    // NaN is neither above nor below zero, and stays NaN.
    const float sign = way > 0.0f ? 1.0f : way < 0.0f ? -1.0f : way;
    mean[i] = s.beta2 * m + rest2 * gradient[i];
    weight[i] = (w - s.shrink * w) - s.rate * sign;
  });
}

void lars(std::int64_t count, const LarsStep& s, const float* gradient, float* velocity, float* weight) {
  for_each_two_vectors(count, [=](auto kind, std::int64_t i) {
    const auto w = kind.stream(weight + i);
    const auto move =
        s.momentum * kind.stream(velocity + i) + s.rate * (kind.stream(gradient + i) + s.decay * w);
    kind.write(move, velocity + i);
    kind.write(w - move, weight + i);
  });
}

void lamb(std::int64_t count, const LambDirection& s, const float* gradient, float* mean, float* square,
          const float* weight, float* direction) {
  const float rest1 = 1.0f - s.beta1, rest2 = 1.0f - s.beta2;
  for_each_two_vectors(count, [=](auto kind, std::int64_t i) {
    const auto g = kind.stream(gradient + i);
    const auto m = s.beta1 * kind.stream(mean + i) + rest1 * g;
    const auto v = s.beta2 * kind.stream(square + i) + rest2 * (g * g);
    kind.write(m, mean + i);
    kind.write(v, square + i);
    kind.write(s.scale * m / (root(v) + s.epsilon) + s.decay * kind.stream(weight + i), direction + i);
  });
}

void average(std::int64_t count, float keep, const float* x, float* mean) {
  const float rest = 1.0f - keep;
  for_each_two_vectors(count, [=](auto kind, std::int64_t i) {
    const auto old = kind.stream(mean + i);
    kind.write(keep * old + rest * kind.read(x + i), mean + i);
  });
}

void clamp(std::int64_t count, float limit, float* x) {
  for_each(count, [=](std::int64_t i) { x[i] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i]; });
}

}  // namespace

extern const UpdateKernels update_kernels;
const UpdateKernels update_kernels = {sgd,  adam, rmsprop, adagrad, adadelta,
                                      lion, lars, lamb,    average, clamp};

}  // namespace trainer::KERNEL_NAMESPACE
