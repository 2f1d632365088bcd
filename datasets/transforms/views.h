#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "datasets/transforms/resample.h"

namespace trainer {

/// Mirrors an image left to right.
void mirror(float* image, const ImageExtents& extents);
/// Moves an image up and to the left by so many pixels, fewer than its extents; an extent of one pixel does
/// not move. The edges show its mirror image. `scratch` has extents.size() floats.
void shift_reflected(float* image, const ImageExtents& extents, std::int64_t up, std::int64_t left,
                     std::span<float> scratch);

/// An image as an evaluation shows it to the network, and the share of its output in the mean.
struct View {
  bool is_mirrored = false;
  std::int64_t shift = 0;  ///< up and to the left, in pixels
  float share = 1;
};
enum class Views {
  one,          ///< the image
  mirror,       ///< and its mirror image
  mirror_shift  ///< and both of it shifted by a pixel either way: half of the mean (Jordan 2024,
                ///< arXiv:2404.00498, section 3.5)
};
std::vector<View> all_of(Views views);
/// Changes an image to a view of it. `scratch` has extents.size() floats.
void show(const View& view, float* image, const ImageExtents& extents, std::span<float> scratch);

}  // namespace trainer
