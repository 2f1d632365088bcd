// Steps of optimizers: plain loops, see elementwise.cpp about their bits.

#include "engine/math/updates.h"

#include "engine/math/kernels/bit_sum.h"
#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"
#include "engine/math/kernels/two_vectors.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

bool is_wanted(UpdateSums* sums) { return sums != nullptr; }
template <class Other>
bool is_wanted(const Other&) {
  return false;
}

/// A kernel that adds up what it reads and writes where there is a place for the sums, else its twin that
/// does not.
template <auto summing, auto plain>
struct Either;
template <class... Values, void (*summing)(Values...), void (*plain)(Values...)>
struct Either<summing, plain> {
  static void update(Values... values) { ((is_wanted(values) || ...) ? summing : plain)(values...); }
};
template <auto summing, auto plain>
constexpr auto either = Either<summing, plain>::update;

template <bool sums_up>
void adam_with(std::int64_t count, const AdamStep& s, const float* gradient, float* mean, float* square,
               float* weight, UpdateSums* sums) {
  const float rest1 = 1.0f - s.beta1, rest2 = 1.0f - s.beta2;
  BitSum<sums_up> weights, means, squares;
  for_each_two_vectors(count, [=, &weights, &means, &squares](auto kind, std::int64_t i) {
    const auto old = weights.was(kind.stream(weight + i));
    const auto w = old - s.shrink * old;
    const auto decayed = kind.stream(gradient + i) + s.decay * w;
    const auto m = means.becomes(s.beta1 * means.was(kind.stream(mean + i)) + rest1 * decayed);
    const auto v =
        squares.becomes(s.beta2 * squares.was(kind.stream(square + i)) + rest2 * (decayed * decayed));
    kind.write(m, mean + i);
    kind.write(v, square + i);
    kind.write(weights.becomes(w - s.rate * m / (root(v) + s.epsilon)), weight + i);
  });
  weights.tell(0, sums);
  means.tell(1, sums);
  squares.tell(2, sums);
}

/// with_mean, with_momentum: whether those arrays are there.
template <bool with_mean, bool with_momentum, bool sums_up>
void rmsprop_with(std::int64_t count, const RmspropStep& s, const float* gradient, float* square, float* mean,
                  float* velocity, float* weight, UpdateSums* sums) {
  const float rest = 1.0f - s.smoothing;
  BitSum<sums_up> weights, squares, means, velocities;
  for_each(count, [=, &weights, &squares, &means, &velocities](std::int64_t i) {
    const float w = weights.was(weight[i]);
    const float decayed = gradient[i] + s.decay * w;
    const float v = squares.becomes(s.smoothing * squares.was(square[i]) + rest * (decayed * decayed));
    square[i] = v;
    float variance = v;
    if constexpr (with_mean) {
      const float m = means.becomes(s.smoothing * means.was(mean[i]) + rest * decayed);
      mean[i] = m;
      variance = v - m * m;
      variance = variance < 0.0f ? 0.0f : variance;  // where only rounding is left
    }
    float move = decayed / (__builtin_sqrtf(variance) + s.epsilon);
    if constexpr (with_momentum) {
      move = velocities.becomes(s.momentum * velocities.was(velocity[i]) + move);
      velocity[i] = move;
    }
    weight[i] = weights.becomes(w - s.rate * move);
  });
  weights.tell(0, sums);
  squares.tell(1, sums);
  if constexpr (with_mean) means.tell(2, sums);
  if constexpr (with_momentum) velocities.tell(with_mean ? 3 : 2, sums);
}

template <bool sums_up>
void rmsprop_of(std::int64_t count, const RmspropStep& step, const float* gradient, float* square,
                float* mean, float* velocity, float* weight, UpdateSums* sums) {
  const auto update =
      mean ? (velocity ? rmsprop_with<true, true, sums_up> : rmsprop_with<true, false, sums_up>)
           : (velocity ? rmsprop_with<false, true, sums_up> : rmsprop_with<false, false, sums_up>);
  update(count, step, gradient, square, mean, velocity, weight, sums);
}

template <bool sums_up>
void adagrad_with(std::int64_t count, const AdagradStep& s, const float* gradient, float* sum, float* weight,
                  UpdateSums* sums) {
  BitSum<sums_up> weights, totals;
  for_each(count, [=, &weights, &totals](std::int64_t i) {
    const float w = weights.was(weight[i]);
    const float decayed = gradient[i] + s.decay * w;
    const float squares = totals.becomes(totals.was(sum[i]) + decayed * decayed);
    sum[i] = squares;
    weight[i] = weights.becomes(w - s.rate * decayed / (__builtin_sqrtf(squares) + s.epsilon));
  });
  weights.tell(0, sums);
  totals.tell(1, sums);
}

template <bool sums_up>
void adadelta_with(std::int64_t count, const AdadeltaStep& s, const float* gradient, float* square,
                   float* delta, float* weight, UpdateSums* sums) {
  const float rest = 1.0f - s.rho;
  BitSum<sums_up> weights, squares, deltas;
  for_each(count, [=, &weights, &squares, &deltas](std::int64_t i) {
    const float w = weights.was(weight[i]), d = deltas.was(delta[i]);
    const float decayed = gradient[i] + s.decay * w;
    const float v = squares.becomes(s.rho * squares.was(square[i]) + rest * (decayed * decayed));
    const float move = __builtin_sqrtf(d + s.epsilon) / __builtin_sqrtf(v + s.epsilon) * decayed;
    square[i] = v;
    delta[i] = deltas.becomes(s.rho * d + rest * (move * move));
    weight[i] = weights.becomes(w - s.rate * move);
  });
  weights.tell(0, sums);
  squares.tell(1, sums);
  deltas.tell(2, sums);
}

template <bool sums_up>
void lion_with(std::int64_t count, const LionStep& s, const float* gradient, float* mean, float* weight,
               UpdateSums* sums) {
  const float rest1 = 1.0f - s.beta1, rest2 = 1.0f - s.beta2;
  BitSum<sums_up> weights, means;
  for_each(count, [=, &weights, &means](std::int64_t i) {
    const float w = weights.was(weight[i]), m = means.was(mean[i]);
    const float way = s.beta1 * m + rest1 * gradient[i];
    // A NaN is neither above nor below zero, and must not pass for zero.
    const float sign = way > 0.0f ? 1.0f : way < 0.0f ? -1.0f : way;
    mean[i] = means.becomes(s.beta2 * m + rest2 * gradient[i]);
    weight[i] = weights.becomes((w - s.shrink * w) - s.rate * sign);
  });
  weights.tell(0, sums);
  means.tell(1, sums);
}

template <bool sums_up>
void lars_with(std::int64_t count, const LarsStep& s, const float* gradient, float* velocity, float* weight,
               UpdateSums* sums) {
  BitSum<sums_up> weights, velocities;
  for_each_two_vectors(count, [=, &weights, &velocities](auto kind, std::int64_t i) {
    const auto w = weights.was(kind.stream(weight + i));
    const auto move = s.momentum * velocities.was(kind.stream(velocity + i)) +
                      s.rate * (kind.stream(gradient + i) + s.decay * w);
    kind.write(velocities.becomes(move), velocity + i);
    kind.write(weights.becomes(w - move), weight + i);
  });
  weights.tell(0, sums);
  velocities.tell(1, sums);
}

template <bool sums_up>
void lamb_with(std::int64_t count, const LambDirection& s, const float* gradient, float* mean, float* square,
               const float* weight, float* direction, UpdateSums* sums) {
  const float rest1 = 1.0f - s.beta1, rest2 = 1.0f - s.beta2;
  BitSum<sums_up> means, squares;
  for_each_two_vectors(count, [=, &means, &squares](auto kind, std::int64_t i) {
    const auto decayed = kind.stream(gradient + i);
    const auto m = means.becomes(s.beta1 * means.was(kind.stream(mean + i)) + rest1 * decayed);
    const auto v =
        squares.becomes(s.beta2 * squares.was(kind.stream(square + i)) + rest2 * (decayed * decayed));
    kind.write(m, mean + i);
    kind.write(v, square + i);
    kind.write(s.scale * m / (root(v) + s.epsilon) + s.decay * kind.stream(weight + i), direction + i);
  });
  means.tell(1, sums);
  squares.tell(2, sums);
}

template <bool sums_up>
void average_with(std::int64_t count, float keep, const float* x, float* mean, UpdateSums* sums, int array) {
  const float rest = 1.0f - keep;
  BitSum<sums_up> means;
  for_each_two_vectors(count, [=, &means](auto kind, std::int64_t i) {
    const auto old = means.was(kind.stream(mean + i));
    kind.write(means.becomes(keep * old + rest * kind.read(x + i)), mean + i);
  });
  means.tell(array, sums);
}

void clamp(std::int64_t count, float limit, float* x) {
  for_each(count, [=](std::int64_t i) { x[i] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i]; });
}

}  // namespace

extern const UpdateKernels update_kernels;
const UpdateKernels update_kernels = {either<adam_with<true>, adam_with<false>>,
                                      either<rmsprop_of<true>, rmsprop_of<false>>,
                                      either<adagrad_with<true>, adagrad_with<false>>,
                                      either<adadelta_with<true>, adadelta_with<false>>,
                                      either<lion_with<true>, lion_with<false>>,
                                      either<lars_with<true>, lars_with<false>>,
                                      either<lamb_with<true>, lamb_with<false>>,
                                      either<average_with<true>, average_with<false>>,
                                      clamp};

}  // namespace trainer::KERNEL_NAMESPACE
