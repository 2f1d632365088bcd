#pragma once

#include <cstdint>
#include <span>

#include "engine/core/random.h"

namespace trainer {

/// RandomStream::fill_uniform(), many numbers at a time by the kernels of this CPU: dropout wants one for
/// each activation.
void fill_uniform(const RandomStream& stream, std::uint64_t first, std::span<float> numbers);

}  // namespace trainer
