#include "datasets/transforms/transform.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// Makes a picture lighter or darker, and its contrast and colours stronger or weaker.
class ColorJitter final : public Transform {
 public:
  ColorJitter(const Config& config, const Shape& sample)
      : extents_(picture_extents(config, sample)),
        brightness_(config.get<double>("brightness")),
        contrast_(config.get<double>("contrast")),
        saturation_(config.get<double>("saturation")) {}

  void apply(const RandomStream& random, std::int64_t index, Tensor sample, std::span<float>) const override {
    const SampleRandom numbers(random, index, 3);
    const float light = numbers.between(0, -brightness_, brightness_);
    const float contrast = numbers.between(1, 1 - contrast_, 1 + contrast_);
    const float colour = numbers.between(2, 1 - saturation_, 1 + saturation_);
    double total = 0;
    for (const float number : sample.span()) total += number;
    const auto mean = static_cast<float>(total / static_cast<double>(extents_.size()));
    const auto channels = static_cast<float>(extents_.channels);
    for (float* pixel = sample.data(); pixel < sample.data() + extents_.size(); pixel += extents_.channels) {
      float gray = 0;
      for (std::int64_t c = 0; c < extents_.channels; ++c) gray += pixel[c] / channels;
      for (std::int64_t c = 0; c < extents_.channels; ++c) {
        const float coloured = gray + colour * (pixel[c] - gray);
        pixel[c] = mean + contrast * (coloured - mean) + light;
      }
    }
  }

 private:
  PictureExtents extents_;
  double brightness_, contrast_, saturation_;
};

Setting strength(const std::string& name, const std::string& help) {
  return real(name, help).at_least(0).at_most(1).fallback("0.2");
}

const Registry<Transform, const Shape&>::Add registered{
    {.name = "color_jitter",
     .help = "pictures become lighter or darker, with more or less contrast and colour",
     .settings = {strength("brightness", "the most that is added or taken, in units of the samples"),
                  strength("contrast", "the most by which differences to the picture's mean grow or shrink"),
                  strength("saturation", "the most by which differences to gray grow or shrink")}},
    [](const Config& config, const Shape& sample) { return std::make_unique<ColorJitter>(config, sample); }};

}  // namespace
}  // namespace trainer
