#include "datasets/transforms/tones.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace trainer {
namespace {

constexpr int kLevels = 256;

float clipped(float value) { return std::clamp(value, 0.0f, 1.0f); }

int level_of(float value) { return static_cast<int>(std::lround(clipped(value) * (kLevels - 1))); }

float value_of(int level) { return static_cast<float>(level) / (kLevels - 1); }

}  // namespace

void change_sharpness(ColorImage image, float factor, std::span<float> scratch) {
  const auto [height, width, channels] = image.extents;
  std::copy_n(image.pixels, image.extents.size(), scratch.begin());
  const std::int64_t line = width * channels;
  for (std::int64_t row = 1; row + 1 < height; ++row)
    for (std::int64_t i = row * line + channels; i < (row + 1) * line - channels; ++i) {
      const float* const at = scratch.data() + i;
      float sum = 4 * at[0];  // the pixel counts five times
      for (const std::int64_t down : {-line, std::int64_t{0}, line})
        sum += at[down - channels] + at[down] + at[down + channels];
      image.pixels[i] = clipped(factor * at[0] + (1 - factor) * sum / 13);
    }
}

void solarize(ColorImage image, float threshold) {
  for (std::int64_t i = 0; i < image.extents.size(); ++i)
    if (image.pixels[i] >= threshold) image.pixels[i] = 1 - image.pixels[i];
}

void posterize(ColorImage image, int bits) {
  const int mask = kLevels - (1 << (8 - bits));
  for (std::int64_t i = 0; i < image.extents.size(); ++i)
    image.pixels[i] = value_of(level_of(image.pixels[i]) & mask);
}

void autocontrast(ColorImage image) {
  const std::int64_t channels = image.extents.channels, size = image.extents.size();
  for (std::int64_t c = 0; c < channels; ++c) {
    float low = image.pixels[c], high = low;
    for (std::int64_t i = c; i < size; i += channels) {
      low = std::min(low, image.pixels[i]);
      high = std::max(high, image.pixels[i]);
    }
    if (!(high > low)) continue;
    for (std::int64_t i = c; i < size; i += channels)
      image.pixels[i] = clipped((image.pixels[i] - low) / (high - low));
  }
}

void equalize(ColorImage image) {
  const std::int64_t channels = image.extents.channels, size = image.extents.size();
  for (std::int64_t c = 0; c < channels; ++c) {
    std::array<std::int64_t, kLevels> counts{};
    for (std::int64_t i = c; i < size; i += channels)
      ++counts[static_cast<std::size_t>(level_of(image.pixels[i]))];
    const auto last =
        std::ranges::find_if(counts.rbegin(), counts.rend(), [](auto count) { return count > 0; });
    const std::int64_t step = (size / channels - *last) / (kLevels - 1);
    if (step == 0) continue;
    std::array<float, kLevels> table{};
    std::int64_t before = 0;
    for (std::size_t level = 0; level < counts.size(); before += counts[level++])
      table[level] =
          level == 0
              ? 0
              : value_of(static_cast<int>(std::min<std::int64_t>((before + step / 2) / step, kLevels - 1)));
    for (std::int64_t i = c; i < size; i += channels)
      image.pixels[i] = table[static_cast<std::size_t>(level_of(image.pixels[i]))];
  }
}

}  // namespace trainer
