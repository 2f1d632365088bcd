#pragma once

#include "datasets/transforms/resample.h"

namespace trainer {

/// An image of 1 or 3 channels with values in [0, 1]. Results are clipped to this range. Images of one
/// channel have no saturation and no hue: both changes leave them as they are.
struct ColorImage {
  float* pixels = nullptr;
  ImageExtents extents;
};

/// factor 0: black, 1: unchanged.
void change_brightness(ColorImage image, float factor);
/// factor 0: the mean gray everywhere, 1: unchanged.
void change_contrast(ColorImage image, float factor);
/// factor 0: gray, 1: unchanged.
void change_saturation(ColorImage image, float factor);
/// Rotates the hue by a share of the full circle; red becomes green after 1/3.
void turn_hue(ColorImage image, float turns);

}  // namespace trainer
