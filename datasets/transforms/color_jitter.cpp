#include <algorithm>
#include <array>

#include "datasets/transforms/colors.h"
#include "datasets/transforms/transform.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// Changes brightness, contrast, saturation and hue of an image in a random order, as
/// torchvision.transforms.ColorJitter.
class ColorJitter final : public Transform {
 public:
  ColorJitter(const Config& config, const Shape& sample)
      : extents_(image_extents(config, sample)),
        brightness_(config.get<double>("brightness")),
        contrast_(config.get<double>("contrast")),
        saturation_(config.get<double>("saturation")),
        hue_(config.get<double>("hue")) {
    if (extents_.channels != 1 && extents_.channels != 3)
      config.fail("", "color_jitter requires images of 1 or 3 channels, but a sample is " + sample.text(),
                  "remove it from data.augment");
  }

  void apply(const RandomStream& random, std::int64_t index, Tensor sample, std::span<float>) const override {
    const SampleRandom draws(random, index, 5);
    const ColorImage image{sample.data(), extents_};
    for (const int change : in_any_order(draws.between(0, 0, 1))) {
      if (change == 0 && brightness_ > 0)
        change_brightness(image, draws.between(1, 1 - brightness_, 1 + brightness_));
      if (change == 1 && contrast_ > 0)
        change_contrast(image, draws.between(2, 1 - contrast_, 1 + contrast_));
      if (change == 2 && saturation_ > 0)
        change_saturation(image, draws.between(3, 1 - saturation_, 1 + saturation_));
      if (change == 3 && hue_ > 0) turn_hue(image, draws.between(4, -hue_, hue_));
    }
  }
  bool requires_pixels() const override { return true; }
  bool is_costly() const override { return true; }

 private:
  /// One of the 24 orders, by a draw in [0, 1).
  static std::array<int, 4> in_any_order(float draw) {
    std::array<int, 4> order{0, 1, 2, 3};
    int which = std::min(static_cast<int>(draw * 24), 23);
    for (int left = 4; left > 1; --left) {
      std::swap(order[left - 1], order[which % left]);
      which /= left;
    }
    return order;
  }

  ImageExtents extents_;
  double brightness_, contrast_, saturation_, hue_;
};

Setting strength(const std::string& name, const std::string& help) {
  return real(name, help).at_least(0).at_most(1).fallback("0.2");
}

const Registry<Transform, const Shape&>::Add color_jitter_transform{
    {.name = "color_jitter",
     .help = "change brightness, contrast, saturation and hue of images of 1 or 3 channels, before "
             "data.normalize; values are clipped to [0, 1]",
     .settings =
         {strength("brightness", "factor of pixels: random in [1 - brightness, 1 + brightness]"),
          strength(
              "contrast",
              "factor of differences from the image's mean gray: random in [1 - contrast, 1 + contrast]"),
          strength(
              "saturation",
              "factor of differences from each pixel's gray: random in [1 - saturation, 1 + saturation]"),
          real("hue", "largest rotation of the hue in either direction, as a share of the full circle")
              .at_least(0)
              .at_most(0.5)
              .fallback("0")}},
    [](const Config& config, const Shape& sample) { return std::make_unique<ColorJitter>(config, sample); }};

}  // namespace
}  // namespace trainer
