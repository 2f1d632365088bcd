#pragma once

#include <cstdint>
#include <span>

namespace trainer {

/// Up to kValues floats as one bit each, the sign, and the means of the values on either side of 0 (1-bit
/// SGD, Seide et al., Interspeech 2014; there a block is a column of a matrix).
struct SignBlock {
  static constexpr std::int64_t kValues = 128, kLanes = 4;

  float negative = 0, positive = 0;  ///< the means; a zero counts by its sign
  /// Of value i: bit i / kLanes of element i % kLanes.
  std::uint32_t is_negative[kLanes] = {};
};

/// At most SignBlock::kValues values. A value that is not finite leaves none of its block finite.
SignBlock encode(std::span<const float> values);
/// values = the means that the block has for them; their number is that of encode().
void decode(const SignBlock& block, std::span<float> values);

}  // namespace trainer
