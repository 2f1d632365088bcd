// normal, and he, whose deviation follows from the layer.
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

/// Normal with deviation sqrt(2 / inputs), made for relu (He et al. 2015, "Delving deep into rectifiers").
class He final : public Initializer {
 public:
  void fill(const Parameter& parameter, const RandomStream& stream, std::span<float> whole) const override {
    fill_normal(0, static_cast<float>(std::sqrt(2 / static_cast<double>(parameter.fan_in))), stream, whole);
  }
};

const Registry<Initializer>::Add normal{
    {.name = "normal",
     .help = "normally distributed",
     .primary = "std",
     .settings = {real("std", "standard deviation").at_least(0), real("mean", "mean").fallback("0")}},
    [](const Config& config) { return std::make_unique<Normal>(config); }};

const Registry<Initializer>::Add he{
    {.name = "he", .help = "normally distributed with deviation sqrt(2 / inputs), for relu"},
    [](const Config&) { return std::make_unique<He>(); }};

}  // namespace
}  // namespace trainer
