#include "engine/math/updates.h"

#include "engine/math/kernels/kernels.h"

namespace trainer {

void adam_update(std::int64_t count, const AdamStep& step, const float* gradient, float* mean, float* square,
                 float* weight, UpdateSums* sums) {
  kernels().updates->adam(count, step, gradient, mean, square, weight, sums);
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

}  // namespace trainer
