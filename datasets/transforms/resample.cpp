#include "datasets/transforms/resample.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace trainer {
namespace {

/// The pixels of an input line that make up one pixel of the result, and their shares.
struct Taps {
  std::int64_t first = 0;
  std::span<const float> shares;
};

/// The taps of pixel `index`, if `length` pixels from `start` of a line of `in` pixels become `out` pixels.
/// `memory` holds the shares.
Taps taps_of(double start, double length, std::int64_t in, std::int64_t out, std::int64_t index,
             std::span<float> memory) {
  const double scale = length / static_cast<double>(out), reach = std::max(1.0, scale);
  const double centre =
      std::clamp(start + (static_cast<double>(index) + 0.5) * scale, 0.5, static_cast<double>(in) - 0.5);
  const auto first = std::max<std::int64_t>(0, std::llround(std::floor(centre - reach)));
  const auto end = std::min(in, static_cast<std::int64_t>(std::llround(std::ceil(centre + reach))));
  const auto shares = memory.first(end - first);
  double total = 0;
  for (std::int64_t i = first; i < end; ++i) {
    const double distance = std::fabs(static_cast<double>(i) + 0.5 - centre);
    const double share = std::max(0.0, 1 - distance / reach);
    shares[i - first] = static_cast<float>(share);
    total += share;
  }
  for (float& share : shares) share = static_cast<float>(share / total);
  return {first, shares};
}

}  // namespace

std::int64_t resample_scratch(const ImageExtents& in, std::int64_t out_width) {
  return in.height * out_width * in.channels + std::max(in.height, in.width);
}

template <class Pixel>
void resample(const Pixel* in, const ImageExtents& in_extents, const Window& window, float* out,
              const ImageExtents& out_extents, std::span<float> scratch) {
  const auto [height, width, channels] = in_extents;
  assert(channels == out_extents.channels);
  assert(std::ssize(scratch) >= resample_scratch(in_extents, out_extents.width));
  const std::int64_t narrow_row = out_extents.width * channels;
  const std::size_t narrow_size = height * narrow_row;
  float* const narrow = scratch.data();
  const std::span<float> memory = scratch.subspan(narrow_size);

  // Only rows that the second pass reads.
  const std::int64_t last_row = out_extents.height - 1;
  const std::int64_t top = taps_of(window.top, window.height, height, out_extents.height, 0, memory).first;
  const Taps end = taps_of(window.top, window.height, height, out_extents.height, last_row, memory);
  const std::int64_t bottom = end.first + std::ssize(end.shares);

  for (std::int64_t column = 0; column < out_extents.width; ++column) {
    const Taps taps = taps_of(window.left, window.width, width, out_extents.width, column, memory);
    for (std::int64_t row = top; row < bottom; ++row) {
      const Pixel* const from = in + (row * width + taps.first) * channels;
      float* const to = narrow + row * narrow_row + column * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (std::size_t i = 0; i < taps.shares.size(); ++i)
          sum += taps.shares[i] * static_cast<float>(from[static_cast<std::int64_t>(i) * channels + c]);
        to[c] = sum;
      }
    }
  }
  for (std::int64_t row = 0; row < out_extents.height; ++row) {
    const Taps taps = taps_of(window.top, window.height, height, out_extents.height, row, memory);
    float* const to = out + row * narrow_row;
    std::fill_n(to, narrow_row, 0.0f);
    for (std::size_t i = 0; i < taps.shares.size(); ++i) {
      const float* const from = narrow + (taps.first + static_cast<std::int64_t>(i)) * narrow_row;
      const float share = taps.shares[i];
      for (std::int64_t k = 0; k < narrow_row; ++k) to[k] += share * from[k];
    }
  }
}

template void resample(const float*, const ImageExtents&, const Window&, float*, const ImageExtents&,
                       std::span<float>);
template void resample(const std::uint8_t*, const ImageExtents&, const Window&, float*, const ImageExtents&,
                       std::span<float>);

}  // namespace trainer
