// normal and truncated_normal, and he and glorot_normal, whose deviation follows from the layer.
#include <cmath>

#include "models/initializers/initializer.h"

namespace trainer {
namespace {

void fill_normal(float mean, float deviation, const RandomStream& stream, std::span<float> whole) {
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = mean + deviation * stream.normal(i);
}

/// Normally distributed.
class Normal final : public Initializer {
 public:
  explicit Normal(const Config& config)
      : mean_(config.get<float>("mean")), deviation_(config.get<float>("std")) {}
  void fill(const Parameter&, const RandomStream& stream, std::span<float> whole) const override {
    fill_normal(mean_, deviation_, stream, whole);
  }

 private:
  float mean_, deviation_;
};

/// Normally distributed; values further than `limit` deviations from the mean are drawn again.
class TruncatedNormal final : public Initializer {
 public:
  explicit TruncatedNormal(const Config& config)
      : mean_(config.get<float>("mean")),
        deviation_(config.get<float>("std")),
        limit_(config.get<float>("limit")) {}
  void fill(const Parameter&, const RandomStream& stream, std::span<float> whole) const override {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      float value = stream.normal(i);
      for (std::size_t again = i; std::fabs(value) > limit_;) value = stream.normal(again += whole.size());
      whole[i] = mean_ + deviation_ * value;
    }
  }

 private:
  float mean_, deviation_, limit_;
};

/// Normal with deviation sqrt(2 / inputs), made for relu (He et al. 2015, "Delving deep into rectifiers"), or
/// sqrt(2 / (inputs + outputs)) (Glorot and Bengio 2010).
class NormalByFans final : public Initializer {
 public:
  using Count = std::int64_t (*)(const Parameter& parameter);
  NormalByFans(const Config& config, Count count) : gain_(config.get<double>("gain")), count_(count) {}
  void fill(const Parameter& parameter, const RandomStream& stream, std::span<float> whole) const override {
    const double deviation = gain_ * std::sqrt(2 / static_cast<double>(count_(parameter)));
    fill_normal(0, static_cast<float>(deviation), stream, whole);
  }

 private:
  double gain_;
  Count count_;
};

const Registry<Initializer>::Add normal_initializer{
    {.name = "normal",
     .help = "normally distributed",
     .primary = "std",
     .settings = {real("std", "standard deviation").at_least(0), real("mean", "mean").fallback("0")}},
    [](const Config& config) { return std::make_unique<Normal>(config); }};

const Registry<Initializer>::Add truncated_initializer{
    {.name = "truncated_normal",
     .help = "normally distributed, truncated",
     .primary = "std",
     .settings = {real("std", "standard deviation before truncation").at_least(0),
                  real("mean", "mean").fallback("0"),
                  real("limit", "values further than so many std from the mean are drawn again")
                      .at_least(0.1)
                      .fallback("2")}},
    [](const Config& config) { return std::make_unique<TruncatedNormal>(config); }};

Declaration normal_by_fans(const std::string& name, const std::string& help) {
  return {.name = name,
          .help = help,
          .primary = "gain",
          .settings = {real("gain", "factor of the deviation").above(0).fallback("1")}};
}

Registry<Initializer>::Make normal_deviation(NormalByFans::Count count) {
  return [count](const Config& config) { return std::make_unique<NormalByFans>(config, count); };
}

const Registry<Initializer>::Add he_initializer{
    normal_by_fans("he", "normally distributed with deviation sqrt(2 / inputs), for relu"),
    normal_deviation([](const Parameter& parameter) { return parameter.fan_in; })};

const Registry<Initializer>::Add glorot_normal_initializer{
    normal_by_fans("glorot_normal", "normally distributed with deviation sqrt(2 / (inputs + outputs))"),
    normal_deviation([](const Parameter& parameter) { return parameter.fan_in + parameter.fan_out; })};

}  // namespace
}  // namespace trainer
