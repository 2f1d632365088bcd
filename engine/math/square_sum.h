#pragma once

#include <cstdint>

namespace trainer {

/// The largest magnitude of `count` values, as the bits of a float. Those of infinity and NaN are above all
/// others.
std::uint32_t largest_magnitude(std::int64_t count, const float* x);
/// False for infinity and NaN.
bool is_finite_magnitude(std::uint32_t bits);

/// Adds squares as integer multiples of one unit, so that the sum depends neither on their order nor on their
/// partition. The unit is about 2^-50 of the largest square: as exact as a sum of doubles.
class SquareSum {
 public:
  /// `largest`: the largest magnitude of all values, on all ranks; finite.
  explicit SquareSum(std::uint32_t largest);

  void add(std::int64_t count, const float* x);

  /// The sum as two integers, to be added over ranks; doubles hold them exactly.
  double high() const { return static_cast<double>(high_); }
  double low() const { return static_cast<double>(low_); }
  /// The square root of a sum with these two integers.
  double root(double high, double low) const;

 private:
  int exponent_;  ///< of the unit
  std::int64_t high_ = 0, low_ = 0;
};

}  // namespace trainer
