#pragma once

#include <cstdint>

#include "engine/core/range.h"
#include "engine/core/shape.h"

namespace trainer {

/// The sample that each training sample is mixed with, and how: all elements in proportion (mixup, Zhang et
/// al. 2018), or a rectangle of the other image (CutMix, Yun et al. 2019, arXiv:1905.04899). A pure function
/// of (seed, epoch, sample).
class Mixing {
 public:
  struct Options {
    double mixup = 0, cutmix = 0;  ///< alpha of Beta(alpha, alpha), which shares follow; 0: none
    std::int64_t samples = 0;      ///< of the training split
    Shape sample = {};             ///< of one; (H, W, C) for cutmix
    std::uint64_t seed = 1;
  };
  /// Mixes nothing.
  Mixing() = default;
  /// With both, each sample is mixed one way or the other, as likely.
  explicit Mixing(const Options& options) : options_(options) {}

  bool is_on() const { return options_.mixup > 0 || options_.cutmix > 0; }
  struct Partner {
    std::int64_t sample = 0;  ///< in [0, samples)
    float share = 1;          ///< of the sample itself: with mixup in [0.5, 1], with cutmix of its pixels
    bool is_cut = false;
    Range rows = {}, columns = {};  ///< of the rectangle, if is_cut
  };
  Partner partner(std::int64_t sample, std::int64_t epoch) const;
  /// Mixes `other`, the partner, into the sample `own`.
  void mix(const Partner& partner, const float* other, float* own) const;

 private:
  Options options_;
};

}  // namespace trainer
