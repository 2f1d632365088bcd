#include "models/optimizers/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "engine/core/elementary.h"

namespace trainer {

std::vector<Setting> WeightDecay::settings(const std::string& help, const std::string& strength) {
  return {
      real("weight_decay", help).at_least(0).fallback(strength),
      choice("decay",
             "parameters that decay; weights: all but biases and norms; independent: all, whatever factor a "
             "layer's `lr` has",
             {"all", "weights", "independent"})
          .fallback("all")};
}

WeightDecay::WeightDecay(const Config& config)
    : strength_(config.get<float>("weight_decay")),
      spares_biases_(config.is_word("decay", "weights")),
      ignores_rates_(config.is_word("decay", "independent")) {}

std::string WeightDecay::text() const {
  return strength_ > 0 ? fmt::format(" weight decay {}", strength_) : "";
}

Setting Betas::setting(const std::string& help, const std::string& fallback) {
  return list_of("betas", help, real("beta", "decay rate of a running mean").at_least(0).below(1))
      .fallback(fallback);
}

Betas::Betas(const Config& config) {
  const std::vector<Config> values = config.items("betas");
  if (values.size() != 2)
    config.fail("betas", fmt::format("betas expects two values, got {}", values.size()),
                "`betas: [0.9, 0.999]`");
  first = values[0].value<double>();
  second = values[1].value<double>();
}

Betas::Correction Betas::correction(std::int64_t steps_done) const {
  const auto steps = static_cast<double>(steps_done + 1);
  const double root = std::sqrt(1 - elementary::pow(second, steps));
  return {.scale = root / (1 - elementary::pow(first, steps)), .epsilon = root};
}

Setting Adaptation::setting(const std::string& fallback) {
  return choice("adapt",
                "parameters whose steps are scaled by norms; with `weights`, biases and norms take the plain "
                "learning "
                "rate",
                {"all", "weights"})
      .fallback(fallback);
}

Adaptation::Adaptation(const Config& config) : all_(config.get<std::string>("adapt") == "all") {}

double Adaptation::ratio(const Segment& segment, double length) const {
  const bool is_usable =
      segment.value_norm > 0 && length > 0 && std::isfinite(segment.value_norm) && std::isfinite(length);
  return is_usable && (all_ || segment.is_weight) ? segment.value_norm / length : 1;
}

Setting rate_setting() { return real("lr", "learning rate").at_least(0); }

Setting epsilon_setting(const std::string& help, const std::string& fallback) {
  return real("epsilon", help).above(0).fallback(fallback);
}

std::vector<Setting> with_weight_decay(std::vector<Setting> settings, const std::string& help,
                                       const std::string& strength) {
  std::ranges::move(WeightDecay::settings(help, strength), std::back_inserter(settings));
  return settings;
}

}  // namespace trainer
