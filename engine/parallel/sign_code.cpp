#include "engine/parallel/sign_code.h"

#include <cmath>
#include <limits>

namespace trainer {

SignBlock encode(std::span<const float> values) {
  SignBlock block;
  double negative = 0, positive = 0;
  std::int64_t positives = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_positive = values[i] >= 0;
    block.is_positive[i / 64] |= std::uint64_t{is_positive} << i % 64;
    (is_positive ? positive : negative) += static_cast<double>(values[i]);
    positives += is_positive ? 1 : 0;
  }
  const std::int64_t negatives = std::ssize(values) - positives;
  if (positives > 0) block.positive = static_cast<float>(positive / static_cast<double>(positives));
  if (negatives > 0) block.negative = static_cast<float>(negative / static_cast<double>(negatives));
  if (!std::isfinite(positive) || !std::isfinite(negative))
    block.positive = block.negative = std::numeric_limits<float>::quiet_NaN();
  return block;
}

void decode(const SignBlock& block, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = block.is_positive[i / 64] >> i % 64 & 1 ? block.positive : block.negative;
}

}  // namespace trainer
