#include "engine/math/updates.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

#include "engine/math/kernels/kernels.h"

namespace trainer {

std::uint32_t UpdateSums::Lanes::total() const {
  return std::accumulate(std::begin(parts), std::end(parts), 0U, std::bit_xor{});
}

void UpdateSums::clear() {
  std::ranges::fill(before, Lanes{});
  std::ranges::fill(after, Lanes{});
  told = 0;
}

void adam_update(std::int64_t count, const AdamStep& step, const float* gradient, float* mean, float* square,
                 float* weight, UpdateSums* sums) {
  kernels().updates->adam(count, step, gradient, mean, square, weight, sums);
}

void rmsprop_update(std::int64_t count, const RmspropStep& step, const float* gradient, float* square,
                    float* mean, float* velocity, float* weight, UpdateSums* sums) {
  kernels().updates->rmsprop(count, step, gradient, square, mean, velocity, weight, sums);
}

void adagrad_update(std::int64_t count, const AdagradStep& step, const float* gradient, float* sum,
                    float* weight, UpdateSums* sums) {
  kernels().updates->adagrad(count, step, gradient, sum, weight, sums);
}

void adadelta_update(std::int64_t count, const AdadeltaStep& step, const float* gradient, float* square,
                     float* delta, float* weight, UpdateSums* sums) {
  kernels().updates->adadelta(count, step, gradient, square, delta, weight, sums);
}

void lion_update(std::int64_t count, const LionStep& step, const float* gradient, float* mean, float* weight,
                 UpdateSums* sums) {
  kernels().updates->lion(count, step, gradient, mean, weight, sums);
}

void lars_update(std::int64_t count, const LarsStep& step, const float* gradient, float* velocity,
                 float* weight, UpdateSums* sums) {
  kernels().updates->lars(count, step, gradient, velocity, weight, sums);
}

void lamb_direction(std::int64_t count, const LambDirection& step, const float* gradient, float* mean,
                    float* square, const float* weight, float* direction, UpdateSums* sums) {
  kernels().updates->lamb(count, step, gradient, mean, square, weight, direction, sums);
}

void moving_average(std::int64_t count, float keep, const float* x, float* mean, UpdateSums* sums,
                    int array) {
  kernels().updates->average(count, keep, x, mean, sums, array);
}

void clamp(std::int64_t count, float limit, float* x) { kernels().updates->clamp(count, limit, x); }

}  // namespace trainer
