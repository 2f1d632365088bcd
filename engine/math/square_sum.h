#pragma once

#include <cstdint>

namespace trainer {

/// The bits of the largest magnitude of some numbers, as those of a float; infinity and NaN are above all
/// others.
std::uint32_t largest_magnitude(std::int64_t count, const float* x);
/// Whether it is of a number.
bool is_finite_magnitude(std::uint32_t bits);

/// Adds squares as whole multiples of one unit, so that the sum depends neither on their order nor on how
/// they are cut into parts. The unit is some 2^-50 of the largest square: as exact as a sum of doubles.
class SquareSum {
 public:
  /// `largest`: the largest magnitude of all numbers that there will be, wherever they are; finite.
  explicit SquareSum(std::uint32_t largest);

  void add(std::int64_t count, const float* x);

  /// The sum as two whole numbers, to be added over those who hold parts; doubles hold them exactly.
  double high() const { return static_cast<double>(high_); }
  double low() const { return static_cast<double>(low_); }
  /// The root of a sum from its parts.
  double root(double high, double low) const;

 private:
  int exponent_;  ///< of the unit
  std::int64_t high_ = 0, low_ = 0;
};

}  // namespace trainer
