#include <algorithm>

#include "models/initializers/initializer.h"

namespace trainer {
namespace {

/// The identity: ones where input and output have the same index, in a convolution at the filter's center.
class Identity final : public Initializer {
 public:
  explicit Identity(const Config& config) : value_(config.get<float>("value")) {}

  void fill(const Parameter& parameter, const RandomStream&, std::span<float> whole) const override {
    std::ranges::fill(whole, 0.0f);
    const Shape& shape = parameter.whole_shape();
    const std::int64_t outputs = shape[shape.rank() - 1],
                       inputs = shape.rank() > 1 ? shape[shape.rank() - 2] : 1;
    std::int64_t middle = 0;
    for (int axis = 0; axis < shape.rank() - 2; ++axis) middle = middle * shape[axis] + shape[axis] / 2;
    for (std::int64_t i = 0; i < std::min(inputs, outputs); ++i)
      whole[static_cast<std::size_t>((middle * inputs + i) * outputs + i)] = value_;
  }

 private:
  float value_;
};

const Registry<Initializer>::Add identity_initializer{
    {.name = "identity",
     .help = "identity matrix; in a convolution at the center of the filter",
     .primary = "value",
     .settings = {real("value", "value on the diagonal").fallback("1")}},
    [](const Config& config) { return std::make_unique<Identity>(config); }};

}  // namespace
}  // namespace trainer
