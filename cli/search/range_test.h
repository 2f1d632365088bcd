#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainer {

/// A range test of the learning rate (Smith 2017, arXiv:1506.01186, section 3.3): the losses of a run whose
/// rate rises exponentially with its steps.
class RangeTest {
 public:
  struct Point {
    double rate = 0, loss = 0;
    double smoothed = 0;  ///< exponential moving average of the losses so far, without its bias to 0
  };

  /// Adds the loss of a step. Ignored once the test has diverged.
  void add(double rate, double loss);
  /// True once the smoothed loss is not finite, or 4 times the lowest one, after a tenth of `steps`.
  bool has_diverged(std::int64_t steps) const;

  const std::vector<Point>& points() const { return points_; }
  /// The rate at which the smoothed loss falls fastest with the logarithm of the rate; nothing if it
  /// falls by less than 2 % in all.
  std::optional<double> steepest() const;
  /// The rate with the lowest smoothed loss; nothing without a point.
  std::optional<double> lowest() const;

 private:
  std::size_t lowest_index() const;

  std::vector<Point> points_;
  double average_ = 0;
};

/// Some lines of rates and smoothed losses, with bars, for the terminal.
std::string range_table(const RangeTest& test);

}  // namespace trainer
