#include "engine/math/updates.h"

#include "engine/math/kernels/kernels.h"

namespace trainer {

void sgd_update(std::int64_t count, const SgdStep& step, const float* gradient, float* velocity,
                float* weight) {
  kernels().updates->sgd(count, step, gradient, velocity, weight);
}

void adam_update(std::int64_t count, const AdamStep& step, const float* gradient, float* mean, float* square,
                 float* weight) {
  kernels().updates->adam(count, step, gradient, mean, square, weight);
}

void rmsprop_update(std::int64_t count, const RmspropStep& step, const float* gradient, float* square,
                    float* mean, float* velocity, float* weight) {
  kernels().updates->rmsprop(count, step, gradient, square, mean, velocity, weight);
}

void adagrad_update(std::int64_t count, const AdagradStep& step, const float* gradient, float* sum,
                    float* weight) {
  kernels().updates->adagrad(count, step, gradient, sum, weight);
}

void adadelta_update(std::int64_t count, const AdadeltaStep& step, const float* gradient, float* square,
                     float* delta, float* weight) {
  kernels().updates->adadelta(count, step, gradient, square, delta, weight);
}

void lion_update(std::int64_t count, const LionStep& step, const float* gradient, float* mean,
                 float* weight) {
  kernels().updates->lion(count, step, gradient, mean, weight);
}

void lars_update(std::int64_t count, const LarsStep& step, const float* gradient, float* velocity,
                 float* weight) {
  kernels().updates->lars(count, step, gradient, velocity, weight);
}

void lamb_direction(std::int64_t count, const LambDirection& step, const float* gradient, float* mean,
                    float* square, const float* weight, float* direction) {
  kernels().updates->lamb(count, step, gradient, mean, square, weight, direction);
}

void moving_average(std::int64_t count, float keep, const float* x, float* mean) {
  kernels().updates->average(count, keep, x, mean);
}

void clamp(std::int64_t count, float limit, float* x) { kernels().updates->clamp(count, limit, x); }

}  // namespace trainer
