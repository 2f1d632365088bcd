#include "engine/math/updates.h"

#include <cmath>

namespace trainer::reference {

void sgd_update(std::int64_t count, const SgdStep& step, const float* gradient, float* velocity,
                float* weight) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float decayed = gradient[i] + step.decay * weight[i];
    float move = decayed;
    if (velocity) {
      velocity[i] = step.momentum * velocity[i] + decayed;
      move = step.nesterov ? decayed + step.momentum * velocity[i] : velocity[i];
    }
    weight[i] -= step.rate * move;
  }
}

void adam_update(std::int64_t count, const AdamStep& step, const float* gradient, float* mean, float* square,
                 float* weight) {
  for (std::int64_t i = 0; i < count; ++i) {
    weight[i] = weight[i] - step.shrink * weight[i];
    const float decayed = gradient[i] + step.decay * weight[i];
    mean[i] = step.beta1 * mean[i] + (1 - step.beta1) * decayed;
    square[i] = step.beta2 * square[i] + (1 - step.beta2) * (decayed * decayed);
    weight[i] -= step.rate * mean[i] / (std::sqrt(square[i]) + step.epsilon);
  }
}

void rmsprop_update(std::int64_t count, const RmspropStep& step, const float* gradient, float* square,
                    float* mean, float* velocity, float* weight) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float decayed = gradient[i] + step.decay * weight[i];
    square[i] = step.smoothing * square[i] + (1 - step.smoothing) * (decayed * decayed);
    float variance = square[i];
    if (mean) {
      mean[i] = step.smoothing * mean[i] + (1 - step.smoothing) * decayed;
      variance -= mean[i] * mean[i];
      if (variance < 0) variance = 0;
    }
    float move = decayed / (std::sqrt(variance) + step.epsilon);
    if (velocity) move = velocity[i] = step.momentum * velocity[i] + move;
    weight[i] -= step.rate * move;
  }
}

void adagrad_update(std::int64_t count, const AdagradStep& step, const float* gradient, float* sum,
                    float* weight) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float decayed = gradient[i] + step.decay * weight[i];
    sum[i] += decayed * decayed;
    weight[i] -= step.rate * decayed / (std::sqrt(sum[i]) + step.epsilon);
  }
}

void adadelta_update(std::int64_t count, const AdadeltaStep& step, const float* gradient, float* square,
                     float* delta, float* weight) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float decayed = gradient[i] + step.decay * weight[i];
    square[i] = step.rho * square[i] + (1 - step.rho) * (decayed * decayed);
    const float move = std::sqrt(delta[i] + step.epsilon) / std::sqrt(square[i] + step.epsilon) * decayed;
    delta[i] = step.rho * delta[i] + (1 - step.rho) * (move * move);
    weight[i] -= step.rate * move;
  }
}

void lion_update(std::int64_t count, const LionStep& step, const float* gradient, float* mean,
                 float* weight) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float way = step.beta1 * mean[i] + (1 - step.beta1) * gradient[i];
    const float sign = way == 0 || std::isnan(way) ? way : std::copysign(1.0f, way);
    mean[i] = step.beta2 * mean[i] + (1 - step.beta2) * gradient[i];
    weight[i] = (weight[i] - step.shrink * weight[i]) - step.rate * sign;
  }
}

void lars_update(std::int64_t count, const LarsStep& step, const float* gradient, float* velocity,
                 float* weight) {
  for (std::int64_t i = 0; i < count; ++i) {
    velocity[i] = step.momentum * velocity[i] + step.rate * (gradient[i] + step.decay * weight[i]);
    weight[i] -= velocity[i];
  }
}

void lamb_direction(std::int64_t count, const LambDirection& step, const float* gradient, float* mean,
                    float* square, const float* weight, float* direction) {
  for (std::int64_t i = 0; i < count; ++i) {
    mean[i] = step.beta1 * mean[i] + (1 - step.beta1) * gradient[i];
    square[i] = step.beta2 * square[i] + (1 - step.beta2) * (gradient[i] * gradient[i]);
    direction[i] = step.scale * mean[i] / (std::sqrt(square[i]) + step.epsilon) + step.decay * weight[i];
  }
}

}  // namespace trainer::reference
