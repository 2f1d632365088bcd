#pragma once

#include <cstdint>
#include <span>

namespace trainer {

/// target[i] = sources[0][i] + sources[1][i] + ... for i in [first, last), added in this order. `target` may
/// be one of the sources.
void sum_in_order(std::span<const float* const> sources, float* target, std::int64_t first,
                  std::int64_t last);

}  // namespace trainer
