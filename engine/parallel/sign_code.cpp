#include "engine/parallel/sign_code.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace trainer {
namespace {

constexpr std::int64_t kLanes = SignBlock::kLanes, kRows = SignBlock::kValues / kLanes;

/// Of the lanes of one block.
struct Sums {
  float all[kLanes] = {}, negative[kLanes] = {};
};

// The loops over lanes become vector code.
void add_row(const float* __restrict values, int row, Sums& sums, std::uint32_t* __restrict bits) {
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t sign = std::bit_cast<std::uint32_t>(values[lane]) >> 31;
    bits[lane] |= sign << row;
    sums.all[lane] += values[lane];
    sums.negative[lane] += sign != 0 ? values[lane] : 0.0f;
  }
}

void decode_row(const SignBlock& block, int row, float* __restrict values) {
  for (std::int64_t lane = 0; lane < kLanes; ++lane)
    values[lane] = (block.is_negative[lane] >> row & 1) != 0 ? block.negative : block.positive;
}

double sum_of(const float* lanes) {
  double sum = 0;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) sum += static_cast<double>(lanes[lane]);
  return sum;
}

}  // namespace

SignBlock encode(std::span<const float> values) {
  SignBlock block;
  Sums sums;
  const std::int64_t rows = std::ssize(values) / kLanes;
  for (std::int64_t row = 0; row < rows; ++row)
    add_row(values.data() + row * kLanes, static_cast<int>(row), sums, block.is_negative);
  if (rows < kRows) {
    // Zeros fill the last row up: they have no weight in sums, and no bit.
    std::array<float, kLanes> rest = {};
    std::ranges::copy(values.subspan(static_cast<std::size_t>(rows * kLanes)), rest.begin());
    add_row(rest.data(), static_cast<int>(rows), sums, block.is_negative);
  }
  std::int64_t negatives = 0;
  for (const std::uint32_t bits : block.is_negative) negatives += std::popcount(bits);
  const double negative = sum_of(sums.negative), positive = sum_of(sums.all) - negative;
  const std::int64_t positives = std::ssize(values) - negatives;
  if (negatives > 0) block.negative = static_cast<float>(negative / static_cast<double>(negatives));
  if (positives > 0) block.positive = static_cast<float>(positive / static_cast<double>(positives));
  if (!std::isfinite(negative) || !std::isfinite(positive))
    block.negative = block.positive = std::numeric_limits<float>::quiet_NaN();
  return block;
}

void decode(const SignBlock& block, std::span<float> values) {
  const std::int64_t rows = std::ssize(values) / kLanes;
  for (std::int64_t row = 0; row < rows; ++row)
    decode_row(block, static_cast<int>(row), values.data() + row * kLanes);
  const auto rest = values.subspan(static_cast<std::size_t>(rows * kLanes));
  if (rest.empty()) return;
  std::array<float, kLanes> last;
  decode_row(block, static_cast<int>(rows), last.data());
  std::copy_n(last.begin(), rest.size(), rest.begin());
}

}  // namespace trainer
