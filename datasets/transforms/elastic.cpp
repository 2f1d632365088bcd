#include <algorithm>
#include <cmath>
#include <vector>

#include "datasets/transforms/transform.h"
#include "datasets/transforms/warp.h"
#include "engine/config/registry.h"
#include "engine/core/elementary.h"

namespace trainer {
namespace {

/// Elastic distortion (Simard, Steinkraus and Platt 2003): each pixel moves by a smooth random field.
class Elastic final : public Transform {
 public:
  Elastic(const Config& config, const Shape& sample)
      : extents_(image_extents(config, sample)), strength_(config.get<float>("alpha")) {
    const double sigma = config.get<double>("sigma");
    const auto reach = static_cast<std::int64_t>(std::ceil(3 * sigma));
    double total = 0;
    for (std::int64_t i = -reach; i <= reach; ++i) {
      const auto distance = static_cast<double>(i) / sigma;
      shares_.push_back(static_cast<float>(elementary::exp(-0.5 * distance * distance)));
      total += static_cast<double>(shares_.back());
    }
    for (float& share : shares_) share = static_cast<float>(share / total);
  }

  void apply(const RandomStream& random, std::int64_t index, Tensor sample,
             std::span<float> scratch) const override {
    const std::size_t area = extents_.height * extents_.width;
    const SampleRandom draws(random, index, 2 * area);
    const std::span<float> rows = scratch.first(area), columns = scratch.subspan(area, area);
    const std::span<float> other = scratch.subspan(2 * area);
    draws.fill(0, rows);
    smooth(rows, other);
    draws.fill(area, columns);
    smooth(columns, other);
    std::copy_n(sample.data(), extents_.size(), other.begin());
    for (std::int64_t row = 0; row < extents_.height; ++row)
      for (std::int64_t column = 0; column < extents_.width; ++column) {
        const std::size_t at = row * extents_.width + column;
        const Place from{static_cast<float>(row) + strength_ * rows[at],
                         static_cast<float>(column) + strength_ * columns[at]};
        sample_at(other.data(), extents_, from,
                  sample.data() + static_cast<std::int64_t>(at) * extents_.channels);
      }
  }
  std::int64_t scratch() const override { return 2 * extents_.height * extents_.width + extents_.size(); }
  bool is_costly() const override { return true; }

 private:
  /// Maps a field from [0, 1) to [-1, 1) and convolves it with the Gaussian; 0 outside the image.
  void smooth(std::span<float> field, std::span<float> other) const {
    const std::int64_t height = extents_.height, width = extents_.width;
    for (float& value : field) value = 2 * value - 1;
    pass(field, other, height, width, 1);
    pass(other, field, width, height, width);
  }
  /// Convolves `lines` lines of `count` elements that lie `step` apart.
  void pass(std::span<const float> in, std::span<float> out, std::int64_t lines, std::int64_t count,
            std::int64_t step) const {
    const std::int64_t reach = std::ssize(shares_) / 2, next_line = step == 1 ? count : 1;
    for (std::int64_t line = 0; line < lines; ++line)
      for (std::int64_t i = 0; i < count; ++i) {
        float sum = 0;
        for (std::int64_t k = std::max<std::int64_t>(0, i - reach); k <= std::min(count - 1, i + reach); ++k)
          sum += shares_[k - i + reach] * in[line * next_line + k * step];
        out[line * next_line + i * step] = sum;
      }
  }

  ImageExtents extents_;
  float strength_;
  std::vector<float> shares_;  ///< the Gaussian kernel
};

const Registry<Transform, const Shape&>::Add elastic_transform{
    {.name = "elastic",
     .help = "distort images elastically, for handwriting",
     .settings = {real("alpha", "strength: largest random shift in pixels, before smoothing")
                      .above(0)
                      .at_most(10000)
                      .fallback("34"),
                  real("sigma", "standard deviation of the Gaussian that smooths the shifts, in pixels")
                      .above(0)
                      .at_most(100)
                      .fallback("4")}},
    [](const Config& config, const Shape& sample) { return std::make_unique<Elastic>(config, sample); }};

}  // namespace
}  // namespace trainer
