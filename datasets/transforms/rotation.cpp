#include <numbers>

#include "datasets/transforms/transform.h"
#include "datasets/transforms/warp.h"
#include "engine/config/registry.h"
#include "engine/core/elementary.h"

namespace trainer {
namespace {

/// Rotates an image about its centre by a random angle; new pixels at the corners are 0.
class Rotation final : public Transform {
 public:
  Rotation(const Config& config, const Shape& sample)
      : extents_(image_extents(config, sample)),
        most_(config.get<double>("degrees") * std::numbers::pi / 180) {}

  void apply(const RandomStream& random, std::int64_t index, Tensor sample,
             std::span<float> scratch) const override {
    const float angle = SampleRandom(random, index, 1).between(0, -most_, most_);
    const float cosine = elementary::cos(angle), sine = elementary::sin(angle);
    warp(sample.data(), extents_,
         {.row_row = cosine, .row_column = -sine, .column_row = sine, .column_column = cosine}, scratch);
  }
  std::int64_t scratch() const override { return extents_.size(); }
  bool is_costly() const override { return true; }

 private:
  ImageExtents extents_;
  double most_;
};

const Registry<Transform, const Shape&>::Add rotation_transform{
    {.name = "rotation",
     .help = "rotate images about their centre at random; new pixels at the corners are 0",
     .primary = "degrees",
     .settings =
         {real("degrees", "largest rotation in either direction").above(0).at_most(180).fallback("15")}},
    [](const Config& config, const Shape& sample) { return std::make_unique<Rotation>(config, sample); }};

}  // namespace
}  // namespace trainer
