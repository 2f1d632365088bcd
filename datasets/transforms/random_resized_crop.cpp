#include <algorithm>
#include <cmath>

#include "datasets/transforms/transform.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// A part of the image, of random size, form and place, becomes the whole (Szegedy et al. 2015).
class RandomResizedCrop final : public Transform {
 public:
  RandomResizedCrop(const Config& config, const Shape& sample)
      : extents_(image_extents(config, sample)),
        least_(config.get<double>("area")),
        stretch_(std::log(config.get<double>("stretch"))) {}

  void apply(const RandomStream& random, std::int64_t index, Tensor sample,
             std::span<float> scratch) const override {
    const SampleRandom numbers(random, index, 4);
    const auto height = static_cast<double>(extents_.height), width = static_cast<double>(extents_.width);
    const double area = static_cast<double>(numbers.between(0, least_, 1));
    // As often twice as wide as half as wide.
    const double form = std::exp(static_cast<double>(numbers.between(1, -stretch_, stretch_)) / 2);
    Window window{.height = height * std::min(1.0, std::sqrt(area) / form),
                  .width = width * std::min(1.0, std::sqrt(area) * form)};
    window.top = static_cast<double>(numbers.between(2, 0, height - window.height));
    window.left = static_cast<double>(numbers.between(3, 0, width - window.width));
    const auto size = static_cast<std::size_t>(extents_.size());
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

const Registry<Transform, const Shape&>::Add registered{
    {.name = "random_resized_crop",
     .help = "a part of the image, of random size, form and place, is scaled to the whole",
     .settings = {real("area", "the smallest part, as a share of the image's area")
                      .above(0)
                      .at_most(1)
                      .fallback("0.08"),
                  real("stretch", "the most by which height to width may change, either way")
                      .at_least(1)
                      .at_most(10)
                      .fallback("1.3333333333333333")}},
    [](const Config& config, const Shape& sample) {
      return std::make_unique<RandomResizedCrop>(config, sample);
    }};

}  // namespace
}  // namespace trainer
