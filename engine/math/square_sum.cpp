#include "engine/math/square_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/math/kernels/kernels.h"

namespace trainer {
namespace {

constexpr std::uint32_t kInfinity = 0x7f800000;
/// Squares are counted in units of which the largest takes less than 2^50.
constexpr int kDigits = 50;
/// So many of them fit into 63 bits.
constexpr std::int64_t kChunk = 4096;
constexpr int kLowDigits = 32;

}  // namespace

std::uint32_t largest_magnitude(std::int64_t count, const float* x) {
  return kernels().square_sum->largest_magnitude(count, x);
}

bool is_finite_magnitude(std::uint32_t bits) { return bits < kInfinity; }

SquareSum::SquareSum(std::uint32_t largest) : exponent_(0) {
  int exponent = 0;
  std::frexp(std::bit_cast<float>(largest), &exponent);  // it is below 2^exponent
  exponent_ = 2 * exponent - kDigits;
}

void SquareSum::add(std::int64_t count, const float* x) {
  const double units = std::ldexp(1.0, -exponent_);
  for (std::int64_t first = 0; first < count; first += kChunk) {
    const std::int64_t sum =
        kernels().square_sum->whole_squares(std::min(kChunk, count - first), units, x + first);
    low_ += sum & ((std::int64_t{1} << kLowDigits) - 1);
    high_ += (sum >> kLowDigits) + (low_ >> kLowDigits);
    low_ &= (std::int64_t{1} << kLowDigits) - 1;
  }
}

double SquareSum::root(double high, double low) const {
  return std::sqrt(std::ldexp(std::ldexp(high, kLowDigits) + low, exponent_));
}

}  // namespace trainer
