#pragma once

#include <vector>

namespace trainer {

/// The axis of a chart: the values from `low` to `high` on a line from `begin` to `end`.
class Axis {
 public:
  enum class Scale { linear, logarithmic };

  /// `logarithmic` needs 0 < low < high. A linear axis of one value has room on both sides.
  Axis(double low, double high, double begin, double end, Scale scale);

  double place(double value) const;

  /// Round values between low and high: linear about five, logarithmic powers of ten, and 2 and 5 times them
  /// where there is room; the value if there is only one.
  std::vector<double> ticks() const;

 private:
  std::vector<double> multiples() const;
  std::vector<double> powers() const;

  double low_, high_, begin_, end_;
  bool is_logarithmic_, is_constant_ = false;
};

}  // namespace trainer
