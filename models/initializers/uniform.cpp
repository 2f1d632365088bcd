// uniform, and glorot, whose limit follows from the layer.
#include <cmath>

#include "models/initializers/initializer.h"

namespace trainer {
namespace {

void fill_between(float limit, const RandomStream& stream, std::span<float> whole) {
  stream.fill_uniform(0, whole);
  for (float& value : whole) value = limit * (2 * value - 1);
}

/// Evenly in [-limit, limit).
class Uniform final : public Initializer {
 public:
  explicit Uniform(const Config& config) : limit_(config.get<float>("limit")) {}
  void fill(const Parameter&, const RandomStream& stream, std::span<float> whole) const override {
    fill_between(limit_, stream, whole);
  }

 private:
  float limit_;
};

/// Evenly in +-sqrt(6 / (inputs + outputs)), which keeps variances alike forward and backward (Glorot and
/// Bengio 2010).
class Glorot final : public Initializer {
 public:
  void fill(const Parameter& parameter, const RandomStream& stream, std::span<float> whole) const override {
    const auto fans = static_cast<double>(parameter.fan_in + parameter.fan_out);
    fill_between(static_cast<float>(std::sqrt(6 / fans)), stream, whole);
  }
};

const Registry<Initializer>::Add uniform{
    {.name = "uniform",
     .help = "evenly between -limit and limit",
     .primary = "limit",
     .settings = {real("limit", "largest absolute value").above(0)}},
    [](const Config& config) { return std::make_unique<Uniform>(config); }};

const Registry<Initializer>::Add glorot{
    {.name = "glorot", .help = "evenly between +-sqrt(6 / (inputs + outputs))"},
    [](const Config&) { return std::make_unique<Glorot>(); }};

}  // namespace
}  // namespace trainer
