#pragma once

#include <cstdint>
#include <span>

namespace trainer {

/// A part of a picture, in its pixels; borders may lie between two.
struct Window {
  double top = 0, left = 0, height = 0, width = 0;
};

/// Rows, columns and channels of a picture that lies channels last.
struct PictureExtents {
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t size() const { return height * width * channels; }
};

/// Floats of scratch memory that are enough to resample pictures of this size, or smaller ones, to so many
/// columns.
std::int64_t resample_scratch(const PictureExtents& in, std::int64_t out_width);

/// Scales a window of `in` to all of `out`, with as many channels. Linear between pixels, and averaged over
/// them where the picture becomes smaller. Number: float or std::uint8_t.
template <class Number>
void resample(const Number* in, const PictureExtents& in_extents, const Window& window, float* out,
              const PictureExtents& out_extents, std::span<float> scratch);

}  // namespace trainer
