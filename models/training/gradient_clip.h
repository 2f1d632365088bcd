#pragma once

#include <algorithm>

namespace trainer {

/// What a gradient of this norm is multiplied by so that it is not longer than `limit`; PyTorch's rule.
inline float clip_factor(double norm, double limit) {
  constexpr double kAgainstZero = 1e-6;
  return static_cast<float>(std::min(1.0, limit / (norm + kAgainstZero)));
}

}  // namespace trainer
