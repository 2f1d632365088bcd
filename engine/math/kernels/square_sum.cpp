// Sums of integers, whose order does not matter.

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/largest.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

std::uint32_t largest_magnitude(std::int64_t count, const float* x) {
  Largest largest;
  largest.add(count, x);
  return largest.bits();
}

std::int64_t whole_squares(std::int64_t count, double units, const float* x) {
  // Adding 1.5 * 2^52 rounds to an integer, which then lies in the low bits.
  constexpr double kShift = 6755399441055744.0;
  // Unsigned, since the shifts overflow before they are taken away.
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(x[i]);
    sum += __builtin_bit_cast(std::uint64_t, value * value * units + kShift);
  }
  return static_cast<std::int64_t>(sum - static_cast<std::uint64_t>(count) *
                                             __builtin_bit_cast(std::uint64_t, kShift));
}

}  // namespace

extern const SquareSumKernels square_sum_kernels;
const SquareSumKernels square_sum_kernels = {largest_magnitude, whole_squares};

}  // namespace trainer::KERNEL_NAMESPACE
