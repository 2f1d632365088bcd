#pragma once

#include <cstdint>
#include <span>

#include "engine/core/random.h"

namespace trainer {

/// RandomStream::fill_uniform(), many values at a time by the kernels of this CPU: dropout needs one for
/// each activation.
void fill_uniform(const RandomStream& stream, std::uint64_t first, std::span<float> values);

}  // namespace trainer
