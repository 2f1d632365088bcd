#include <numbers>

#include "datasets/transforms/transform.h"
#include "datasets/transforms/warp.h"
#include "engine/config/registry.h"
#include "engine/core/elementary.h"

namespace trainer {
namespace {

/// Rotates, scales, shears and translates an image at random within limits; new pixels at the edges are 0.
class Affine final : public Transform {
 public:
  Affine(const Config& config, const Shape& sample)
      : extents_(image_extents(config, sample)),
        angle_(config.get<double>("degrees") * kDegree),
        slant_(config.get<double>("shear") * kDegree),
        growth_(elementary::log1p(config.get<double>("scale"))),
        move_(config.get<double>("translate")) {}

  void apply(const RandomStream& random, std::int64_t index, Tensor sample,
             std::span<float> scratch) const override {
    const SampleRandom draws(random, index, 5);
    const float angle = draws.between(0, -angle_, angle_), cosine = elementary::cos(angle),
                sine = elementary::sin(angle);
    const float slant = elementary::tan(draws.between(1, -slant_, slant_));
    // Uniform in the logarithm: 1/2 is as likely as 2.
    const float size = elementary::exp(draws.between(2, -growth_, growth_));
    const auto height = static_cast<float>(extents_.height), width = static_cast<float>(extents_.width);
    warp(sample.data(), extents_,
         {.row_row = cosine * size,
          .row_column = -sine * size,
          .column_row = (sine + slant * cosine) * size,
          .column_column = (cosine - slant * sine) * size,
          .row_shift = height * draws.between(3, -move_, move_),
          .column_shift = width * draws.between(4, -move_, move_)},
         scratch);
  }
  std::int64_t scratch() const override { return extents_.size(); }
  bool is_costly() const override { return true; }

 private:
  static constexpr double kDegree = std::numbers::pi / 180;

  ImageExtents extents_;
  double angle_, slant_, growth_, move_;
};

const Registry<Transform, const Shape&>::Add affine_transform{
    {.name = "affine",
     .help = "rotate, scale, shear and translate images at random; new pixels at the edges are 0",
     .settings =
         {real("degrees", "largest rotation in either direction").at_least(0).at_most(180).fallback("10"),
          real("scale", "largest growth or shrinkage: 0.1 is 10 %").at_least(0).at_most(10).fallback("0.1"),
          real("shear", "largest shear in either direction, in degrees").at_least(0).below(90).fallback("0"),
          real("translate", "largest translation in either direction, as a share of the image's size")
              .at_least(0)
              .below(1)
              .fallback("0.1")}},
    [](const Config& config, const Shape& sample) { return std::make_unique<Affine>(config, sample); }};

}  // namespace
}  // namespace trainer
