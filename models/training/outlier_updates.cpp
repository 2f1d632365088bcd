#include "models/training/outlier_updates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/training/gradient_norm.h"

namespace trainer {

NormHistory::NormHistory(const OutlierSettings& settings) : settings_(settings) {
  norms_.reserve(static_cast<std::size_t>(settings.window) + 1);
}

std::optional<SkippedUpdate> NormHistory::take(double norm) {
  std::optional<SkippedUpdate> skipped;
  if (std::ssize(norms_) >= settings_.window) {
    const auto count = static_cast<double>(norms_.size());
    double mean = 0, squares = 0;
    for (const double one : norms_) mean += one / count;
    for (const double one : norms_) squares += (one - mean) * (one - mean);
    const double deviation = std::sqrt(squares / (count - 1)), limit = mean + settings_.z * deviation;
    if (norm > limit) {
      skipped = {.norm = norm, .mean = mean, .deviation = deviation};
      norm = limit;
    }
    norms_.erase(norms_.begin());
  }
  norms_.push_back(norm);
  return skipped;
}

void NormHistory::restore(const std::vector<double>& norms) {
  norms_.clear();
  if (!std::ranges::all_of(norms, [](double norm) { return std::isfinite(norm) && norm >= 0; })) return;
  const auto kept = std::min(std::ssize(norms), static_cast<std::ptrdiff_t>(settings_.window));
  norms_.assign(norms.end() - kept, norms.end());
}

OutlierUpdates::OutlierUpdates(const std::optional<OutlierSettings>& settings, const OptimizerShard& shard,
                               AllReduce& scalars, Communicator& model)
    : shard_(shard), scalars_(scalars), model_(model) {
  if (settings) history_.emplace(*settings);
}

void OutlierUpdates::restore(const std::vector<double>& state) {
  if (history_) history_->restore(state);
}

void OutlierUpdates::before_update(std::int64_t, const Signals& all) {
  if (history_) skipped_ = history_->take(gradient_norm(shard_, scalars_, model_, all.largest));
}

std::optional<OutlierSettings> outlier_settings(const Config& train, std::string_view apart,
                                                bool has_feedback) {
  if (!train.has("skip_outliers")) return std::nullopt;
  if (!apart.empty())
    train.fail("skip_outliers",
               apart == "local" ? "virtual workers of train.local update their models by themselves"
                                : "ranks of train.async update parameters one after the other",
               fmt::format("train.clip_norm, or without {}", apart));
  if (has_feedback)
    train.fail("skip_outliers",
               "error feedback adds to the next update what compression held back of a skipped one",
               "compression: bf16, or without skip_outliers");
  const Config outliers = train.at("skip_outliers");
  return OutlierSettings{.z = outliers.get<double>("z"), .window = outliers.get<std::int64_t>("window")};
}

Setting skip_outliers_key() {
  constexpr double kLeastWindow = 10, kMostWindow = 10'000;
  return section("skip_outliers",
                 "skips an update whose gradient norm, before clipping, is an outlier among those before it",
                 {real("z", "standard deviations above their mean from which a norm is an outlier")
                      .above(0)
                      .fallback("6"),
                  integer("window", "updates that it is compared with; the first ones are never skipped")
                      .at_least(kLeastWindow)
                      .at_most(kMostWindow)
                      .fallback("100")})
      .optional()
      .changeable();
}

}  // namespace trainer
