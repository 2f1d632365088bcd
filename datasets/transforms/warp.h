#pragma once

#include "datasets/transforms/resample.h"

namespace trainer {

/// A place in a image, in pixels; whole numbers are the middles of pixels.
struct Place {
  float row = 0, column = 0;
};

/// Writes the numbers of all channels at a place between pixels; 0 outside the image.
void sample_at(const float* image, const ImageExtents& extents, Place place, float* out);

/// A change of places: what is drawn at (row, column) comes from matrix * (row, column) + shift, both counted
/// from the middle of the image.
struct AffineMap {
  float row_row = 1, row_column = 0, column_row = 0, column_column = 1;
  float row_shift = 0, column_shift = 0;
};

/// Draws the image anew in this way. `scratch` has room for a copy of it.
void warp(float* image, const ImageExtents& extents, const AffineMap& map, std::span<float> scratch);

}  // namespace trainer
