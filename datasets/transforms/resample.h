#pragma once

#include <cstdint>
#include <span>

namespace trainer {

/// A rectangle of an image, in pixels; borders may lie within pixels.
struct Window {
  double top = 0, left = 0, height = 0, width = 0;
};

/// Rows, columns and channels of an image, channels last.
struct ImageExtents {
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t size() const { return height * width * channels; }
};

/// Floats of scratch memory for resampling images of at most this size to `out_width` columns.
std::int64_t resample_scratch(const ImageExtents& in, std::int64_t out_width);

/// Scales a window of `in` to all of `out`, which has as many channels. Bilinear; pixels are averaged where
/// the image shrinks (antialiasing). Pixel: float or std::uint8_t.
template <class Pixel>
void resample(const Pixel* in, const ImageExtents& in_extents, const Window& window, float* out,
              const ImageExtents& out_extents, std::span<float> scratch);

}  // namespace trainer
