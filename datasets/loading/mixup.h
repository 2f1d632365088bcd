#pragma once

#include <cstdint>

namespace trainer {

/// The sample that each training sample is mixed with, and the shares (Zhang et al. 2018). A pure function of
/// (seed, epoch, sample).
class Mixup {
 public:
  /// Mixes nothing.
  Mixup() = default;
  /// Shares follow the distribution Beta(alpha, alpha); 0: mixes nothing. `samples`: of the training split.
  Mixup(double alpha, std::int64_t samples, std::uint64_t seed)
      : alpha_(alpha), samples_(samples), seed_(seed) {}

  bool is_on() const { return alpha_ > 0; }
  struct Partner {
    std::int64_t sample = 0;  ///< in [0, samples)
    float share = 1;          ///< of the sample itself, in [0.5, 1]; the partner has 1 - share
  };
  Partner partner(std::int64_t sample, std::int64_t epoch) const;

 private:
  double alpha_ = 0;
  std::int64_t samples_ = 0;
  std::uint64_t seed_ = 1;
};

}  // namespace trainer
