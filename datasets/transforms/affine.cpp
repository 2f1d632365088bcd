#include <cmath>
#include <numbers>

#include "datasets/transforms/transform.h"
#include "datasets/transforms/warp.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// Turns, scales, slants and moves a image, each by chance within its limits; zeros come in at the edges.
class Affine final : public Transform {
 public:
  Affine(const Config& config, const Shape& sample)
      : extents_(image_extents(config, sample)),
        angle_(config.get<double>("degrees") * kDegree),
        slant_(config.get<double>("shear") * kDegree),
        growth_(std::log1p(config.get<double>("scale"))),
        move_(config.get<double>("translate")) {}

  void apply(const RandomStream& random, std::int64_t index, Tensor sample,
             std::span<float> scratch) const override {
    const SampleRandom numbers(random, index, 5);
    const float angle = numbers.between(0, -angle_, angle_), cosine = std::cos(angle), sine = std::sin(angle);
    const float slant = std::tan(numbers.between(1, -slant_, slant_));
    // As often half as large as twice as large.
    const float size = std::exp(numbers.between(2, -growth_, growth_));
    const auto height = static_cast<float>(extents_.height), width = static_cast<float>(extents_.width);
    warp(sample.data(), extents_,
         {.row_row = cosine * size,
          .row_column = -sine * size,
          .column_row = (sine + slant * cosine) * size,
          .column_column = (cosine - slant * sine) * size,
          .row_shift = height * numbers.between(3, -move_, move_),
          .column_shift = width * numbers.between(4, -move_, move_)},
         scratch);
  }
  std::int64_t scratch() const override { return extents_.size(); }
  bool is_costly() const override { return true; }

 private:
  static constexpr double kDegree = std::numbers::pi / 180;

  ImageExtents extents_;
  double angle_, slant_, growth_, move_;
};

const Registry<Transform, const Shape&>::Add registered{
    {.name = "affine",
     .help = "images are turned, scaled, slanted and moved; what comes in at the edges is 0",
     .settings = {real("degrees", "the most that they are turned, either way")
                      .at_least(0)
                      .at_most(180)
                      .fallback("10"),
                  real("scale", "the most that they grow or shrink: 0.1 is 10 %")
                      .at_least(0)
                      .at_most(10)
                      .fallback("0.1"),
                  real("shear", "the most degrees that they are slanted, either way")
                      .at_least(0)
                      .below(90)
                      .fallback("0"),
                  real("translate", "the most that they are moved either way, as a share of their size")
                      .at_least(0)
                      .below(1)
                      .fallback("0.1")}},
    [](const Config& config, const Shape& sample) { return std::make_unique<Affine>(config, sample); }};

}  // namespace
}  // namespace trainer
