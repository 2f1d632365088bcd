#pragma once

#include <cstdint>
#include <span>

#include "datasets/dataset.h"
#include "datasets/transforms/resample.h"
#include "engine/core/random.h"

namespace trainer {

/// A random change of training samples that keeps their labels valid. Registered as Registry<Transform, const
/// Shape&>: the shape of one sample, (H, W, C) for images. Factories throw Error(usage) if it does not fit.
class Transform {
 public:
  static constexpr const char* kFamily = "transform";
  virtual ~Transform() = default;
  /// Transforms the sample `index` in place. `random` belongs to this transform and epoch; the draws that are
  /// used depend on `index` alone, not on row, rank or thread. `scratch` has scratch() floats.
  virtual void apply(const RandomStream& random, std::int64_t index, Tensor sample,
                     std::span<float> scratch) const = 0;
  /// Floats of scratch memory that apply() requires.
  virtual std::int64_t scratch() const { return 0; }
  /// True if apply() requires pixels in [0, 1], as they are before data.normalize.
  virtual bool requires_pixels() const { return false; }
  /// True if it takes longer than reading the sample.
  virtual bool is_costly() const { return false; }
};

/// The extents of image samples; Error(usage) at `transform` if samples are not images.
ImageExtents image_extents(const Config& transform, const Shape& sample);

/// The random draws of one sample; each sample has `count` of them.
class SampleRandom {
 public:
  SampleRandom(const RandomStream& stream, std::int64_t index, std::uint64_t count)
      : stream_(stream), first_(static_cast<std::uint64_t>(index) * count) {}
  /// Draw k, uniform in [low, high).
  float between(std::uint64_t k, double low, double high) const {
    return static_cast<float>(low + (high - low) * static_cast<double>(stream_.uniform(first_ + k)));
  }
  /// Draws from k on, uniform in [0, 1).
  void fill(std::uint64_t k, std::span<float> values) const { stream_.fill_uniform(first_ + k, values); }

 private:
  const RandomStream& stream_;
  std::uint64_t first_;
};

}  // namespace trainer
