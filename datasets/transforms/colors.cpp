#include "datasets/transforms/colors.h"

#include <algorithm>
#include <cmath>

namespace trainer {
namespace {

float clipped(float value) { return std::clamp(value, 0.0f, 1.0f); }

/// Luma of a pixel (ITU-R BT.601).
float gray_of(const float* pixel, std::int64_t channels) {
  return channels == 1 ? pixel[0] : 0.2989f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2];
}

template <class Change>
void for_each_pixel(ColorImage image, const Change& change) {
  const std::int64_t channels = image.extents.channels;
  for (std::int64_t i = 0; i < image.extents.size(); i += channels) change(image.pixels + i);
}

}  // namespace

void change_brightness(ColorImage image, float factor) {
  for (std::int64_t i = 0; i < image.extents.size(); ++i) image.pixels[i] = clipped(factor * image.pixels[i]);
}

void change_contrast(ColorImage image, float factor) {
  const std::int64_t channels = image.extents.channels;
  double total = 0;
  for_each_pixel(image, [&](const float* pixel) { total += static_cast<double>(gray_of(pixel, channels)); });
  const double pixels = static_cast<double>(image.extents.height * image.extents.width);
  const float shift = (1 - factor) * static_cast<float>(total / pixels);
  for (std::int64_t i = 0; i < image.extents.size(); ++i)
    image.pixels[i] = clipped(factor * image.pixels[i] + shift);
}

void change_saturation(ColorImage image, float factor) {
  if (image.extents.channels == 1) return;
  for_each_pixel(image, [factor](float* pixel) {
    const float shift = (1 - factor) * gray_of(pixel, 3);
    for (int c = 0; c < 3; ++c) pixel[c] = clipped(factor * pixel[c] + shift);
  });
}

void turn_hue(ColorImage image, float turns) {
  if (image.extents.channels == 1) return;
  for_each_pixel(image, [turns](float* pixel) {
    const float red = pixel[0], green = pixel[1], blue = pixel[2];
    const float value = std::max({red, green, blue}), chroma = value - std::min({red, green, blue});
    if (chroma == 0) return;
    // In sixths of the circle: red is 0, green 2, blue 4.
    const float hue = value == red     ? (green - blue) / chroma
                      : value == green ? 2 + (blue - red) / chroma
                                       : 4 + (red - green) / chroma;
    const float turned = hue + 6 * turns;
    // A channel is full for two sixths of the circle, and rises and falls in one sixth on either side.
    constexpr float kFallsFrom[] = {5, 3, 1};
    for (int c = 0; c < 3; ++c) {
      float place = std::fmod(kFallsFrom[c] + turned, 6.0f);
      if (place < 0) place += 6;
      pixel[c] = clipped(value - chroma * std::clamp(std::min(place, 4 - place), 0.0f, 1.0f));
    }
  });
}

}  // namespace trainer
