#pragma once

#include <array>
#include <span>

namespace trainer {

/// Estimates the norm of a sum of vectors, each on another rank, from a few numbers of each: the values with
/// random signs, added in kSums sums (AMS sketch, Alon, Matias and Szegedy 1996). Sketches of addends add up
/// to that of the sum. The standard error of a norm is about 1.6 %.
class NormSketch {
 public:
  void add(std::span<const float> values);
  /// To be added over ranks.
  std::span<double> sums() { return sums_; }
  double norm() const;

 private:
  static constexpr std::size_t kSums = 2048;
  std::array<double, kSums> sums_ = {};
};

}  // namespace trainer
