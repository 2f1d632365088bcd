#pragma once

#include <cstdint>

#include "engine/math/types/update_steps.h"

namespace trainer {

// One step of an optimizer on `count` values of a parameter, by the equations of types/update_steps.h as
// PyTorch computes them. All arrays have `count` elements. The bits of a result do not depend on its place in
// the arrays.

/// `velocity` is null without momentum.
void sgd_update(std::int64_t count, const SgdStep& step, const float* gradient, float* velocity,
                float* weight);
void adam_update(std::int64_t count, const AdamStep& step, const float* gradient, float* mean, float* square,
                 float* weight);
/// Centred (Graves 2013) if `mean` is not null: v - mean^2 in place of v. `velocity` is null without
/// momentum.
void rmsprop_update(std::int64_t count, const RmspropStep& step, const float* gradient, float* square,
                    float* mean, float* velocity, float* weight);
void adagrad_update(std::int64_t count, const AdagradStep& step, const float* gradient, float* sum,
                    float* weight);
void adadelta_update(std::int64_t count, const AdadeltaStep& step, const float* gradient, float* square,
                     float* delta, float* weight);
void lion_update(std::int64_t count, const LionStep& step, const float* gradient, float* mean, float* weight);
void lars_update(std::int64_t count, const LarsStep& step, const float* gradient, float* velocity,
                 float* weight);
/// `direction` may be the memory of `gradient`.
void lamb_direction(std::int64_t count, const LambDirection& step, const float* gradient, float* mean,
                    float* square, const float* weight, float* direction);

/// mean = keep mean + (1 - keep) x
void moving_average(std::int64_t count, float keep, const float* x, float* mean);

/// x = min(max(x, -limit), limit); NaN stays.
void clamp(std::int64_t count, float limit, float* x);

namespace reference {
void sgd_update(std::int64_t count, const SgdStep& step, const float* gradient, float* velocity,
                float* weight);
void adam_update(std::int64_t count, const AdamStep& step, const float* gradient, float* mean, float* square,
                 float* weight);
void rmsprop_update(std::int64_t count, const RmspropStep& step, const float* gradient, float* square,
                    float* mean, float* velocity, float* weight);
void adagrad_update(std::int64_t count, const AdagradStep& step, const float* gradient, float* sum,
                    float* weight);
void adadelta_update(std::int64_t count, const AdadeltaStep& step, const float* gradient, float* square,
                     float* delta, float* weight);
void lion_update(std::int64_t count, const LionStep& step, const float* gradient, float* mean, float* weight);
void lars_update(std::int64_t count, const LarsStep& step, const float* gradient, float* velocity,
                 float* weight);
void lamb_direction(std::int64_t count, const LambDirection& step, const float* gradient, float* mean,
                    float* square, const float* weight, float* direction);
}  // namespace reference

}  // namespace trainer
