#pragma once

#include "datasets/transforms/resample.h"

namespace trainer {

/// A image of 1 or 3 channels, whose numbers lie from 0 to 1. Changes cut off what leaves that range; those
/// of colours leave a image of one channel as it is.
struct ColorImage {
  float* pixels = nullptr;
  ImageExtents extents;
};

/// 0: black, 1: as it is.
void change_brightness(ColorImage image, float factor);
/// 0: everywhere the mean gray, 1: as it is.
void change_contrast(ColorImage image, float factor);
/// 0: gray, 1: as it is.
void change_saturation(ColorImage image, float factor);
/// Goes so much of a whole turn round the circle of colours: red becomes green after a third.
void turn_hue(ColorImage image, float turns);

}  // namespace trainer
