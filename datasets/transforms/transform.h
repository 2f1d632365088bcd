#pragma once

#include <cstdint>

#include "datasets/dataset.h"
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
  virtual void apply(const RandomStream& random, std::int64_t index, Tensor sample) const = 0;
};

/// Height, width and channels of samples that are pictures; otherwise Error(usage) at `transform`.
struct PictureExtents {
  std::int64_t height = 0, width = 0, channels = 0;
};
PictureExtents picture_extents(const Config& transform, const Shape& sample);

}  // namespace trainer
