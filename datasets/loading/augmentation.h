#pragma once

#include <memory>
#include <span>
#include <vector>

#include "datasets/transforms/normalised.h"
#include "datasets/transforms/transform.h"

namespace trainer {

/// The transforms of `data.augment`, one after the other, on training samples. What becomes of a sample is a
/// pure function of (seed, epoch, sample).
class Augmentation {
 public:
  Augmentation() = default;
  /// `transforms` are the list's elements. Error(usage) when one does not fit the samples.
  Augmentation(const std::vector<Config>& transforms, const Shape& sample, std::uint64_t seed);

  /// Samples come from there; it outlives this.
  void reads_from(const Normalised& samples) { normalised_ = &samples; }
  /// Changes the rows of x, which hold the samples `indices`. May be called from several threads, each with
  /// `scratch` memory of its own.
  void apply(std::span<const std::int64_t> indices, std::int64_t epoch, Tensor x,
             std::span<float> scratch) const;
  /// Floats of scratch memory that apply() needs.
  std::int64_t scratch() const;
  /// True when a core that is idle is worth a thread that does it.
  bool is_costly() const;

 private:
  struct Step {
    std::uint64_t purpose = 0;
    std::unique_ptr<Transform> transform;
  };
  std::uint64_t seed_ = 1;
  std::vector<Step> steps_;
  const Normalised* normalised_ = nullptr;  ///< null where samples are not normalised
};

}  // namespace trainer
