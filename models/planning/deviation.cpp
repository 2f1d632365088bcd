#include "models/planning/deviation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace trainer {

double deviation(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const auto count = static_cast<double>(sorted.size());
  if (count < 2) return 0;
  // Of all pairs, each value is the larger one as often as there are smaller ones.
  double differences = 0, smaller = 0;
  for (const double value : sorted) differences += value * (2 * smaller++ - (count - 1));
  const double pairs = count * (count - 1) / 2;
  return std::sqrt(std::numbers::pi) / 2 * (differences / pairs);
}

double expected_maximum(int n) {
  if (n < 2) return 0;
  // The integral of 1 - F^n over positive x, less that of F^n over negative x.
  constexpr double kStep = 0.01, kEnd = 10;
  double integral = 0;
  for (double x = kStep / 2; x < kEnd; x += kStep) {
    const double above = std::erfc(x / std::numbers::sqrt2) / 2;
    integral += kStep * (-std::expm1(n * std::log1p(-above)) - std::pow(above, n));
  }
  return integral;
}

}  // namespace trainer
