#include <algorithm>

#include "models/initializers/initializer.h"

namespace trainer {
namespace {

/// Every output begins with a few normally distributed weights, and zeros elsewhere (Martens 2010).
class Sparse final : public Initializer {
 public:
  explicit Sparse(const Config& config)
      : count_(config.get<std::int64_t>("count")), deviation_(config.get<float>("std")) {}

  void fill(const Parameter& parameter, const RandomStream& stream, std::span<float> whole) const override {
    std::ranges::fill(whole, 0.0f);
    const Shape& shape = parameter.whole_shape();
    const std::int64_t outputs = shape[shape.rank() - 1], inputs = std::ssize(whole) / outputs;
    std::uint64_t draw = 0;
    for (std::int64_t output = 0; output < outputs; ++output)
      for (std::int64_t left = std::min(count_, inputs); left > 0;) {
        const auto input =
            static_cast<std::int64_t>(stream.below(2 * draw, static_cast<std::uint64_t>(inputs)));
        float& weight = whole[static_cast<std::size_t>(input * outputs + output)];
        const float value = deviation_ * stream.normal(2 * draw + 1);
        ++draw;
        if (weight != 0) continue;
        weight = value;
        left -= value != 0;
      }
  }

 private:
  std::int64_t count_;
  float deviation_;
};

const Registry<Initializer>::Add registered{
    {.name = "sparse",
     .help = "a few weights of each output normally distributed, the others 0",
     .primary = "count",
     .settings = {integer("count", "weights of each output that are not 0").at_least(1).fallback("15"),
                  real("std", "their standard deviation").above(0).fallback("1")}},
    [](const Config& config) { return std::make_unique<Sparse>(config); }};

}  // namespace
}  // namespace trainer
