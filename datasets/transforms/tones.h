#pragma once

#include <span>

#include "datasets/transforms/colors.h"

namespace trainer {

// Changes of the tones of an image, as torchvision.transforms.functional has them.

/// factor 0: smoothed by its neighbours, 1: unchanged, above: sharper. The border stays. `scratch` has
/// extents.size() floats.
void change_sharpness(ColorImage image, float factor, std::span<float> scratch);
/// Inverts values of at least `threshold`.
void solarize(ColorImage image, float threshold);
/// Keeps the upper bits of values of 8 bits.
void posterize(ColorImage image, int bits);
/// Scales each channel to values from 0 to 1, unless it is constant.
void autocontrast(ColorImage image);
/// Makes each value of 8 bits of a channel about as frequent as the others.
void equalize(ColorImage image);

}  // namespace trainer
