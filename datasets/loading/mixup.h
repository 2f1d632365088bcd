#pragma once

#include <cstdint>

namespace trainer {

/// Which other sample a training sample is mixed with, and how much of it remains (Zhang et al. 2018): a pure
/// function of (seed, epoch, sample).
class Mixup {
 public:
  /// Without mixing.
  Mixup() = default;
  /// Shares follow a beta distribution with both parameters `alpha`; 0 does without mixing.
  Mixup(double alpha, std::int64_t samples, std::uint64_t seed)
      : alpha_(alpha), samples_(samples), seed_(seed) {}

  bool is_on() const { return alpha_ > 0; }
  struct Partner {
    std::int64_t sample = 0;  ///< any of the training samples
    float share = 1;          ///< of the sample itself; at least a half, since each comes once an epoch
  };
  Partner partner(std::int64_t sample, std::int64_t epoch) const;

 private:
  double alpha_ = 0;
  std::int64_t samples_ = 0;
  std::uint64_t seed_ = 1;
};

}  // namespace trainer
