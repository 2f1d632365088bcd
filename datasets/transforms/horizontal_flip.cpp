#include <algorithm>

#include "datasets/transforms/transform.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// Mirrors an image left to right with probability 1/2.
class HorizontalFlip final : public Transform {
 public:
  HorizontalFlip(const Config& config, const Shape& sample) : extents_(image_extents(config, sample)) {}

  void apply(const RandomStream& random, std::int64_t index, Tensor sample, std::span<float>) const override {
    if (random.below(static_cast<std::uint64_t>(index), 2) == 0) return;
    const auto [height, width, channels] = extents_;
    for (std::int64_t row = 0; row < height; ++row) {
      float* left = sample.data() + row * width * channels;
      float* right = left + (width - 1) * channels;
      for (; left < right; left += channels, right -= channels)
        std::swap_ranges(left, left + channels, right);
    }
  }

 private:
  ImageExtents extents_;
};

const Registry<Transform, const Shape&>::Add horizontal_flip_transform{
    {.name = "horizontal_flip", .help = "mirror images left to right with probability 1/2"},
    [](const Config& config, const Shape& sample) {
      return std::make_unique<HorizontalFlip>(config, sample);
    }};

}  // namespace
}  // namespace trainer
