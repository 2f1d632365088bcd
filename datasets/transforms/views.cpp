#include "datasets/transforms/views.h"

#include <algorithm>

namespace trainer {
namespace {

/// The index of a line of `extent` pixels whose mirror image lies at `index` beyond its edges.
std::int64_t reflected(std::int64_t index, std::int64_t extent) {
  if (extent == 1) return 0;
  if (index < 0) return -index;
  return index < extent ? index : 2 * (extent - 1) - index;
}

}  // namespace

void mirror(float* image, const ImageExtents& extents) {
  const auto [height, width, channels] = extents;
  for (std::int64_t row = 0; row < height; ++row) {
    float* left = image + row * width * channels;
    float* right = left + (width - 1) * channels;
    for (; left < right; left += channels, right -= channels) std::swap_ranges(left, left + channels, right);
  }
}

void shift_reflected(float* image, const ImageExtents& extents, std::int64_t up, std::int64_t left,
                     std::span<float> scratch) {
  const auto [height, width, channels] = extents;
  std::copy_n(image, extents.size(), scratch.begin());
  for (std::int64_t row = 0; row < height; ++row)
    for (std::int64_t column = 0; column < width; ++column) {
      const std::int64_t from = reflected(row + up, height) * width + reflected(column + left, width);
      std::copy_n(scratch.data() + from * channels, channels, image + (row * width + column) * channels);
    }
}

std::vector<View> all_of(Views views) {
  std::vector<View> all{{}};
  if (views == Views::one) return all;
  all.push_back({.is_mirrored = true});
  if (views == Views::mirror_shift)
    for (const std::int64_t shift : {-1, 1})
      for (const bool is_mirrored : {false, true})
        all.push_back({.is_mirrored = is_mirrored, .shift = shift, .share = 0.125f});
  const float plain = views == Views::mirror_shift ? 0.25f : 0.5f;
  all[0].share = all[1].share = plain;
  return all;
}

void show(const View& view, float* image, const ImageExtents& extents, std::span<float> scratch) {
  if (view.shift != 0) shift_reflected(image, extents, view.shift, view.shift, scratch);
  if (view.is_mirrored) mirror(image, extents);
}

}  // namespace trainer
