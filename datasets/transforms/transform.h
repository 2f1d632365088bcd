#pragma once

#include <cstdint>
#include <span>

#include "datasets/dataset.h"
#include "datasets/transforms/resample.h"
#include "engine/core/random.h"

namespace trainer {

/// A random change of training samples that leaves their labels true. Registered as Registry<Transform, const
/// Shape&>; the shape is a sample's, and Error(usage) says so when it does not fit.
class Transform {
 public:
  static constexpr const char* kFamily = "transform";
  virtual ~Transform() = default;
  /// Changes sample number `index`, in place. `random` belongs to this transform and epoch; which of its
  /// numbers are used follows from the index alone, never from a position, rank or thread.
  virtual void apply(const RandomStream& random, std::int64_t index, Tensor sample,
                     std::span<float> scratch) const = 0;
  /// Floats of scratch memory that apply() wants.
  virtual std::int64_t scratch() const { return 0; }
  /// True when it changes pixels from 0 to 1, as they are before data.normalize.
  virtual bool requires_pixels() const { return false; }
  /// True when it takes longer than to fetch the sample.
  virtual bool is_costly() const { return false; }
};

/// The extents of samples that are images; otherwise Error(usage) at `transform`.
ImageExtents image_extents(const Config& transform, const Shape& sample);

/// Random numbers of one sample, each of which has `count` of them.
class SampleRandom {
 public:
  SampleRandom(const RandomStream& stream, std::int64_t index, std::uint64_t count)
      : stream_(stream), first_(static_cast<std::uint64_t>(index) * count) {}
  /// Number k as one from `low` to `high`.
  float between(std::uint64_t k, double low, double high) const {
    return static_cast<float>(low + (high - low) * static_cast<double>(stream_.uniform(first_ + k)));
  }
  void fill(std::uint64_t k, std::span<float> numbers) const { stream_.fill_uniform(first_ + k, numbers); }

 private:
  const RandomStream& stream_;
  std::uint64_t first_;
};

}  // namespace trainer
