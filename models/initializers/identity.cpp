#include "models/initializers/initializer.h"

namespace trainer {
namespace {

/// The identity: ones where input and output have the same index, in a convolution at the filter's center.
/// `rest` initialises the outputs beyond the inputs.
class Identity final : public Initializer {
 public:
  explicit Identity(const Config& config) : value_(config.get<float>("value")) {
    if (config.has("rest")) rest_ = Registry<Initializer>::make(config.at("rest"));
  }

  void fill(const Parameter& parameter, const RandomStream& stream, std::span<float> whole) const override {
    const Shape& shape = parameter.whole_shape();
    const std::int64_t outputs = shape[shape.rank() - 1],
                       inputs = shape.rank() > 1 ? shape[shape.rank() - 2] : 1,
                       group = outputs / parameter.groups;
    if (rest_) rest_->fill(parameter, stream, whole);
    for (std::size_t i = 0; i < whole.size(); ++i)
      if (!rest_ || static_cast<std::int64_t>(i) % outputs % group < inputs) whole[i] = 0;
    std::int64_t middle = 0;
    for (int axis = 0; axis < shape.rank() - 2; ++axis) middle = middle * shape[axis] + shape[axis] / 2;
    for (std::int64_t output = 0; output < outputs; ++output)
      if (const std::int64_t input = output % group; input < inputs)
        whole[static_cast<std::size_t>((middle * inputs + input) * outputs + output)] = value_;
  }

 private:
  float value_;
  std::unique_ptr<Initializer> rest_;
};

const Registry<Initializer>::Add identity_initializer{
    {.name = "identity",
     .help = "identity matrix; in a convolution at the center of the filter",
     .primary = "value",
     .settings = {real("value", "value on the diagonal").fallback("1"),
                  family("rest", "initial weights of outputs beyond the inputs; 0 without it", "initializer")
                      .optional()}},
    [](const Config& config) { return std::make_unique<Identity>(config); }};

}  // namespace
}  // namespace trainer
