#pragma once

#include "datasets/transforms/resample.h"

namespace trainer {

/// A place in an image, in pixels; integers are the centres of pixels.
struct Place {
  float row = 0, column = 0;
};

/// Writes the channels at a place, bilinear between pixels; 0 outside the image. `out` has extents.channels
/// elements.
void sample_at(const float* image, const ImageExtents& extents, Place place, float* out);

/// An affine map from output to input: the pixel at (row, column) comes from matrix * (row, column) + shift,
/// both relative to the centre of the image.
struct AffineMap {
  float row_row = 1, row_column = 0, column_row = 0, column_column = 1;
  float row_shift = 0, column_shift = 0;
};

/// Applies the map in place. `scratch` has extents.size() floats.
void warp(float* image, const ImageExtents& extents, const AffineMap& map, std::span<float> scratch);

}  // namespace trainer
