#pragma once

#include <memory>
#include <span>
#include <vector>

#include "datasets/transforms/normalised.h"
#include "datasets/transforms/transform.h"

namespace trainer {

/// The transforms of `data.augment`, applied in order to training samples. The result is a pure function of
/// (seed, epoch, sample).
class Augmentation {
 public:
  Augmentation() = default;
  /// `sample` is the shape of one sample. Error(usage) if a transform does not fit it.
  Augmentation(const std::vector<Config>& transforms, const Shape& sample, std::uint64_t seed);

  /// Declares that samples are normalised by `samples`, which outlives this. Transforms of pixels denormalise
  /// them first.
  void reads_from(const Normalised& samples) { normalised_ = &samples; }
  /// Transforms the rows of x, which hold the samples `indices`, in place. Several threads may call it at the
  /// same time, each with its own `scratch` of scratch() floats.
  void apply(std::span<const std::int64_t> indices, std::int64_t epoch, Tensor x,
             std::span<float> scratch) const;
  /// Floats of scratch memory that apply() requires.
  std::int64_t scratch() const;
  /// True if prefetching on idle cores pays.
  bool is_costly() const;

 private:
  struct Step {
    std::uint64_t purpose = 0;
    std::unique_ptr<Transform> transform;
  };
  std::uint64_t seed_ = 1;
  std::vector<Step> steps_;
  const Normalised* normalised_ = nullptr;  ///< null if samples are not normalised
};

}  // namespace trainer
