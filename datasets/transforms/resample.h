#pragma once

#include <cstdint>
#include <span>

namespace trainer {

/// A part of a image, in its pixels; borders may lie between two.
struct Window {
  double top = 0, left = 0, height = 0, width = 0;
};

/// Rows, columns and channels of a image that lies channels last.
struct ImageExtents {
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t size() const { return height * width * channels; }
};

/// Floats of scratch memory that are enough to resample images of this size, or smaller ones, to so many
/// columns.
std::int64_t resample_scratch(const ImageExtents& in, std::int64_t out_width);

/// Scales a window of `in` to all of `out`, with as many channels. Linear between pixels, and averaged over
/// them where the image becomes smaller. Number: float or std::uint8_t.
template <class Number>
void resample(const Number* in, const ImageExtents& in_extents, const Window& window, float* out,
              const ImageExtents& out_extents, std::span<float> scratch);

}  // namespace trainer
