#pragma once

#include "datasets/transforms/resample.h"

namespace trainer {

/// A picture of 1 or 3 channels, whose numbers lie from 0 to 1. Changes cut off what leaves that range; those
/// of colours leave a picture of one channel as it is.
struct ColorPicture {
  float* pixels = nullptr;
  PictureExtents extents;
};

/// 0: black, 1: as it is.
void change_brightness(ColorPicture picture, float factor);
/// 0: everywhere the mean gray, 1: as it is.
void change_contrast(ColorPicture picture, float factor);
/// 0: gray, 1: as it is.
void change_saturation(ColorPicture picture, float factor);
/// Goes so much of a whole turn round the circle of colours: red becomes green after a third.
void turn_hue(ColorPicture picture, float turns);

}  // namespace trainer
