#pragma once

#include <span>

#include "engine/core/shape.h"

namespace trainer {

/// Transposes samples in place from (C, H, W) to `sample`, (H, W, C).
void channels_to_the_end(const Shape& sample, std::span<float> all);

}  // namespace trainer
