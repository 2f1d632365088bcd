#include <algorithm>
#include <cmath>

#include "datasets/transforms/transform.h"
#include "engine/config/registry.h"
#include "engine/core/elementary.h"

namespace trainer {
namespace {

/// Scales a crop of random area, aspect ratio and place to the whole image (Szegedy et al. 2015).
class RandomResizedCrop final : public Transform {
 public:
  RandomResizedCrop(const Config& config, const Shape& sample)
      : extents_(image_extents(config, sample)),
        least_(config.get<double>("area")),
        stretch_(elementary::log(config.get<double>("stretch"))) {}

  void apply(const RandomStream& random, std::int64_t index, Tensor sample,
             std::span<float> scratch) const override {
    const SampleRandom draws(random, index, 4);
    const auto height = static_cast<double>(extents_.height), width = static_cast<double>(extents_.width);
    const double area = static_cast<double>(draws.between(0, least_, 1));
    // Uniform in the logarithm: an aspect ratio of 1/2 is as likely as 2.
    const double form = elementary::exp(static_cast<double>(draws.between(1, -stretch_, stretch_)) / 2);
    Window window{.height = height * std::min(1.0, std::sqrt(area) / form),
                  .width = width * std::min(1.0, std::sqrt(area) * form)};
    window.top = static_cast<double>(draws.between(2, 0, height - window.height));
    window.left = static_cast<double>(draws.between(3, 0, width - window.width));
    const std::size_t size = extents_.size();
    std::copy_n(sample.data(), size, scratch.begin());
    resample(scratch.data(), extents_, window, sample.data(), extents_, scratch.subspan(size));
  }
  std::int64_t scratch() const override {
    return extents_.size() + resample_scratch(extents_, extents_.width);
  }
  bool is_costly() const override { return true; }

 private:
  ImageExtents extents_;
  double least_, stretch_;
};

const Registry<Transform, const Shape&>::Add random_resized_crop_transform{
    {.name = "random_resized_crop",
     .help = "scale a crop of random area, aspect ratio and place to the whole image",
     .settings = {real("area", "smallest area of the crop, as a share of the image's")
                      .above(0)
                      .at_most(1)
                      .fallback("0.08"),
                  real("stretch", "largest factor of the aspect ratio, in either direction")
                      .at_least(1)
                      .at_most(10)
                      .fallback("1.3333333333333333")}},
    [](const Config& config, const Shape& sample) {
      return std::make_unique<RandomResizedCrop>(config, sample);
    }};

}  // namespace
}  // namespace trainer
