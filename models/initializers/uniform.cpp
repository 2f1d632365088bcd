// uniform, and glorot, he_uniform and lecun_uniform, whose limits follow from the layer.
#include <cmath>

#include "models/initializers/initializer.h"

namespace trainer {
namespace {

void fill_between(float low, float high, const RandomStream& stream, std::span<float> whole) {
  stream.fill_uniform(0, whole);
  const float middle = (low + high) / 2, limit = (high - low) / 2;
  for (float& value : whole) value = middle + limit * (2 * value - 1);
}

/// Uniform in [low, limit).
class Uniform final : public Initializer {
 public:
  explicit Uniform(const Config& config)
      : low_(config.has("low") ? config.get<float>("low") : -config.get<float>("limit")),
        high_(config.get<float>("limit")) {
    if (low_ >= high_) config.fail("low", "low is not below limit");
  }
  void fill(const Parameter&, const RandomStream& stream, std::span<float> whole) const override {
    fill_between(low_, high_, stream, whole);
  }

 private:
  float low_, high_;
};

/// Uniform in +- gain sqrt(6 / (inputs + outputs)), which keeps variances forward and backward (Glorot
/// and Bengio 2010), or +- gain sqrt(6 / inputs) or sqrt(3 / inputs).
class UniformByFans final : public Initializer {
 public:
  using Square = double (*)(const Parameter& parameter);
  UniformByFans(const Config& config, Square square) : gain_(config.get<double>("gain")), square_(square) {}
  void fill(const Parameter& parameter, const RandomStream& stream, std::span<float> whole) const override {
    const auto limit = static_cast<float>(gain_ * std::sqrt(square_(parameter)));
    fill_between(-limit, limit, stream, whole);
  }

 private:
  double gain_;
  Square square_;
};

const Registry<Initializer>::Add uniform_initializer{
    {.name = "uniform",
     .help = "uniform between -limit and limit",
     .primary = "limit",
     .settings = {real("limit", "largest value; its negative is the smallest"),
                  real("low", "smallest value instead of -limit").optional()}},
    [](const Config& config) { return std::make_unique<Uniform>(config); }};

Declaration uniform_by_fans(const std::string& name, const std::string& help) {
  return {.name = name,
          .help = help,
          .primary = "gain",
          .settings = {real("gain", "factor of the limit").above(0).fallback("1")}};
}

Registry<Initializer>::Make uniform_limit(UniformByFans::Square square) {
  return [square](const Config& config) { return std::make_unique<UniformByFans>(config, square); };
}

const Registry<Initializer>::Add glorot_initializer{
    uniform_by_fans("glorot", "uniform between +-sqrt(6 / (inputs + outputs))"),
    uniform_limit([](const Parameter& parameter) {
      return 6 / static_cast<double>(parameter.fan_in + parameter.fan_out);
    })};

const Registry<Initializer>::Add he_uniform_initializer{
    uniform_by_fans("he_uniform", "uniform between +-sqrt(6 / inputs), for relu"),
    uniform_limit([](const Parameter& parameter) { return 6 / static_cast<double>(parameter.fan_in); })};

const Registry<Initializer>::Add lecun_uniform_initializer{
    uniform_by_fans("lecun_uniform",
                    "uniform between +-sqrt(3 / inputs), which keeps the variance in forward"),
    uniform_limit([](const Parameter& parameter) { return 3 / static_cast<double>(parameter.fan_in); })};

}  // namespace
}  // namespace trainer
