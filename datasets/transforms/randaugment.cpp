#include <cmath>
#include <numbers>

#include "datasets/transforms/tones.h"
#include "datasets/transforms/transform.h"
#include "datasets/transforms/warp.h"
#include "engine/config/registry.h"
#include "engine/core/elementary.h"

namespace trainer {
namespace {

/// RandAugment (Cubuk et al. 2020, arXiv:1909.13719) with the operations and strengths of torchvision: some
/// operations at random, all of one magnitude. Geometric ones interpolate, and turn about the centre.
class RandAugment final : public Transform {
 public:
  RandAugment(const Config& config, const Shape& sample)
      : extents_(image_extents(config, sample)),
        operations_(config.get<std::int64_t>("operations")),
        strength_(config.get<float>("magnitude") / kMost) {
    if (extents_.channels != 1 && extents_.channels != 3)
      config.fail("", "randaugment requires images of 1 or 3 channels, but a sample is " + sample.text(),
                  "remove it from data.augment");
  }

  void apply(const RandomStream& random, std::int64_t index, Tensor sample,
             std::span<float> scratch) const override {
    const std::uint64_t first = 2 * static_cast<std::uint64_t>(index * operations_);
    for (std::uint64_t draw = first; draw < first + 2 * static_cast<std::uint64_t>(operations_); draw += 2) {
      const bool is_negative = random.below(draw + 1, 2) == 1;
      change({sample.data(), extents_}, static_cast<Operation>(random.below(draw, kOperations)),
             is_negative ? -strength_ : strength_, scratch);
    }
  }
  std::int64_t scratch() const override { return extents_.size(); }
  bool requires_pixels() const override { return true; }
  bool is_costly() const override { return true; }

 private:
  static constexpr float kMost = 30;
  enum class Operation {
    identity,
    shear_x,
    shear_y,
    translate_x,
    translate_y,
    rotate,
    brightness,
    saturation,
    contrast,
    sharpness,
    posterize,
    solarize,
    autocontrast,
    equalize
  };
  static constexpr std::uint64_t kOperations = 14;

  /// `strength`: from -1 to 1.
  static void change(ColorImage image, Operation operation, float strength, std::span<float> scratch) {
    const float factor = 1 + 0.9f * strength, size = std::fabs(strength);
    switch (operation) {
      case Operation::identity:
        return;
      case Operation::brightness:
        return change_brightness(image, factor);
      case Operation::saturation:
        return change_saturation(image, factor);
      case Operation::contrast:
        return change_contrast(image, factor);
      case Operation::sharpness:
        return change_sharpness(image, factor, scratch);
      case Operation::posterize:
        return trainer::posterize(image, 8 - static_cast<int>(std::lround(4 * size)));
      case Operation::solarize:
        return trainer::solarize(image, 1 - size);
      case Operation::autocontrast:
        return trainer::autocontrast(image);
      case Operation::equalize:
        return trainer::equalize(image);
      default:
        return warp(image.pixels, image.extents, map_of(image.extents, operation, strength), scratch);
    }
  }
  static AffineMap map_of(const ImageExtents& extents, Operation operation, float strength) {
    constexpr float kShear = 0.3f, kShift = 150.0f / 331, kAngle = std::numbers::pi_v<float> / 6;
    AffineMap map;
    if (operation == Operation::shear_x) map.column_row = kShear * strength;
    if (operation == Operation::shear_y) map.row_column = kShear * strength;
    if (operation == Operation::translate_x)
      map.column_shift = std::trunc(kShift * strength * static_cast<float>(extents.width));
    if (operation == Operation::translate_y)
      map.row_shift = std::trunc(kShift * strength * static_cast<float>(extents.height));
    if (operation == Operation::rotate) {
      const float angle = kAngle * strength;
      map.row_row = map.column_column = elementary::cos(angle);
      map.row_column = -elementary::sin(angle);
      map.column_row = elementary::sin(angle);
    }
    return map;
  }

  ImageExtents extents_;
  std::int64_t operations_;
  float strength_;
};

const Registry<Transform, const Shape&>::Add randaugment_transform{
    {.name = "randaugment",
     .help = "some of 14 operations on images of 1 or 3 channels, chosen at random, before data.normalize",
     .primary = "magnitude",
     .settings =
         {real("magnitude", "strength of the operations").at_least(0).at_most(30).fallback("9"),
          integer("operations", "number of operations on an image").at_least(1).at_most(100).fallback("2")}},
    [](const Config& config, const Shape& sample) { return std::make_unique<RandAugment>(config, sample); }};

}  // namespace
}  // namespace trainer
