#include "datasets/transforms/warp.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace trainer {

void sample_at(const float* image, const ImageExtents& extents, Place place, float* out) {
  const auto [height, width, channels] = extents;
  std::fill_n(out, channels, 0.0f);
  // Also false for NaN.
  if (!(place.row > -1 && place.row < static_cast<float>(height) && place.column > -1 &&
        place.column < static_cast<float>(width)))
    return;
  const float top = std::floor(place.row), left = std::floor(place.column);
  const float down = place.row - top, right = place.column - left;
  const auto row = static_cast<std::int64_t>(top), column = static_cast<std::int64_t>(left);
  const std::array shares = {(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right};
  for (std::int64_t corner = 0; corner < 4; ++corner) {
    const std::int64_t r = row + corner / 2, c = column + corner % 2;
    if (r < 0 || r >= height || c < 0 || c >= width) continue;
    const float share = shares[corner];
    const float* const from = image + (r * width + c) * channels;
    for (std::int64_t k = 0; k < channels; ++k) out[k] += share * from[k];
  }
}

void warp(float* image, const ImageExtents& extents, const AffineMap& map, std::span<float> scratch) {
  std::copy_n(image, extents.size(), scratch.begin());
  const float middle_row = 0.5f * static_cast<float>(extents.height - 1);
  const float middle_column = 0.5f * static_cast<float>(extents.width - 1);
  for (std::int64_t row = 0; row < extents.height; ++row)
    for (std::int64_t column = 0; column < extents.width; ++column) {
      const float down = static_cast<float>(row) - middle_row;
      const float right = static_cast<float>(column) - middle_column;
      const Place from{map.row_row * down + map.row_column * right + map.row_shift + middle_row,
                       map.column_row * down + map.column_column * right + map.column_shift + middle_column};
      sample_at(scratch.data(), extents, from, image + (row * extents.width + column) * extents.channels);
    }
}

}  // namespace trainer
