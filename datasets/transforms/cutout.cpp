#include <algorithm>

#include "datasets/transforms/transform.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// Sets a random square to 0 (DeVries and Taylor 2017); a part of it may lie outside the image.
class Cutout final : public Transform {
 public:
  Cutout(const Config& config, const Shape& sample)
      : extents_(image_extents(config, sample)), size_(config.get<std::int64_t>("size")) {}

  void apply(const RandomStream& random, std::int64_t index, Tensor sample, std::span<float>) const override {
    const auto draw = 2 * static_cast<std::uint64_t>(index);
    const auto [height, width, channels] = extents_;
    const auto first = [&](std::uint64_t k, std::int64_t extent) {
      return static_cast<std::int64_t>(random.below(draw + k, static_cast<std::uint64_t>(extent))) -
             size_ / 2;
    };
    const std::int64_t top = first(0, height), left = first(1, width);
    const std::int64_t begin = std::max<std::int64_t>(0, left), end = std::min(width, left + size_);
    for (std::int64_t row = std::max<std::int64_t>(0, top); row < std::min(height, top + size_); ++row)
      std::fill_n(sample.data() + (row * width + begin) * channels,
                  std::max<std::int64_t>(0, end - begin) * channels, 0.0f);
  }

 private:
  ImageExtents extents_;
  std::int64_t size_;
};

const Registry<Transform, const Shape&>::Add cutout_transform{
    {.name = "cutout",
     .help = "set a square at a random place to 0",
     .primary = "size",
     .settings =
         {integer("size", "side of the square in pixels").at_least(1).at_most(1 << 14).fallback("8")}},
    [](const Config& config, const Shape& sample) { return std::make_unique<Cutout>(config, sample); }};

}  // namespace
}  // namespace trainer
