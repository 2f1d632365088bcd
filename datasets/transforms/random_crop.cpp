#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "datasets/transforms/transform.h"
#include "datasets/transforms/views.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// A random window of the image's size out of the padded image: a shift by up to `pad` pixels in each
/// direction.
class RandomCrop final : public Transform {
 public:
  RandomCrop(const Config& config, const Shape& sample)
      : extents_(image_extents(config, sample)),
        pad_(config.get<std::int64_t>("pad")),
        reflects_(config.get<std::string>("edge") == "reflect") {
    if (pad_ >= std::min(extents_.height, extents_.width))
      config.fail("pad", "a window could miss the image, which is " + channels_first_text(sample),
                  "less than its height and width");
  }

  void apply(const RandomStream& random, std::int64_t index, Tensor sample,
             std::span<float> scratch) const override {
    const std::int64_t down = offset(random, 2 * index), right = offset(random, 2 * index + 1);
    if (reflects_) return shift_reflected(sample.data(), extents_, down, right, scratch);
    const auto [height, width, channels] = extents_;
    float* const pixels = sample.data();
    const std::int64_t row_size = width * channels;
    // The order of rows reads each row before it overwrites it.
    for (std::int64_t step = 0; step < height; ++step) {
      const std::int64_t row = down >= 0 ? step : height - 1 - step, from = row + down;
      float* const to = pixels + row * row_size;
      if (from < 0 || from >= height)
        std::fill_n(to, row_size, 0.0f);
      else
        move_row(pixels + from * row_size, right, to);
    }
  }

  std::int64_t scratch() const override { return reflects_ ? extents_.size() : 0; }

 private:
  /// In [-pad, pad].
  std::int64_t offset(const RandomStream& random, std::int64_t draw) const {
    const auto choices = static_cast<std::uint64_t>(2 * pad_ + 1);
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(draw), choices)) - pad_;
  }
  void move_row(const float* from, std::int64_t right, float* to) const {
    const std::int64_t blank = std::abs(right) * extents_.channels;
    const std::int64_t kept = extents_.width * extents_.channels - blank;
    const std::size_t bytes = kept * sizeof(float);
    std::memmove(right >= 0 ? to : to + blank, right >= 0 ? from + blank : from, bytes);
    std::fill_n(right >= 0 ? to + kept : to, blank, 0.0f);
  }

  ImageExtents extents_;
  std::int64_t pad_;
  bool reflects_;
};

const Registry<Transform, const Shape&>::Add random_crop_transform{
    {.name = "random_crop",
     .help = "crop a window of the image's size at a random place of the padded image",
     .primary = "pad",
     .settings = {integer("pad",
                          "padding on each side in pixels: zeros after data.normalize, which are the mean "
                          "colour with per_channel and black without")
                      .at_least(1)
                      .fallback("4"),
                  choice("edge", "what the padding shows: zeros, or the mirror image", {"zeros", "reflect"})
                      .fallback("zeros")}},
    [](const Config& config, const Shape& sample) { return std::make_unique<RandomCrop>(config, sample); }};

}  // namespace
}  // namespace trainer
