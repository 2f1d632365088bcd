#include "models/layers/nested_plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "engine/config/source.h"

namespace trainer {
namespace {

/// The factor of "x0.1".
float factor_of(const Config& config) {
  const std::string text = config.get<std::string>("lr");
  float factor = -1;
  const char* const end = text.data() + text.size();
  const bool has_x = text.starts_with('x');
  const auto [stop, problem] = std::from_chars(text.data() + (has_x ? 1 : 0), end, factor);
  if (!has_x || problem != std::errc() || stop != end || !(factor >= 0) || !std::isfinite(factor))
    config.fail("lr", "a layer's `lr` is a factor of the learning rate, got " + in_quotes(text),
                "`lr: x2`, or `frozen: true`");
  return factor;
}

/// The factor of a layer's learning rate; `common` where the layer sets none.
float rate_of(const Config& config, float common) {
  const float rate = config.has("lr") ? factor_of(config) : common;
  if (!config.has("frozen")) return rate;
  if (!config.is_word("frozen", "weights") && config.get<bool>("frozen")) return 0;
  return rate > 0 ? rate : 1;  // inside a frozen layer
}

}  // namespace

NestedPlan::NestedPlan(Plan& plan)
    : plan_(plan),
      outer_(plan.layer_),
      outer_rates_(std::exchange(plan.common_rates_, outer_.rates)),
      scratch_begin_(plan.scratch_position_),
      scratch_end_(scratch_begin_) {}

NestedPlan::~NestedPlan() {
  plan_.set_scratch_position(std::max(scratch_end_, plan_.scratch_position_));
  plan_.layer_ = outer_;
  plan_.common_rates_ = outer_rates_;
}

void NestedPlan::begin_layer(const Config* config, const std::string& type, const std::string& declared) {
  scratch_end_ = std::max(scratch_end_, plan_.scratch_position_);
  plan_.set_scratch_position(scratch_begin_);
  first_parameter_ = plan_.parameters_.size();
  Plan::Current& layer = plan_.layer_;
  layer = {.name = declared.empty() ? type + std::to_string(++plan_.counts_[type]) : declared};
  if (config && config->has("init")) layer.init = config->at("init");
  Plan::Rates& rates = layer.rates;
  rates = plan_.common_rates_;
  if (config) rates.rate = rate_of(*config, rates.rate);
  if (config && config->has("frozen")) rates.has_frozen_weights = config->is_word("frozen", "weights");
  layer.adapter_rate = config && config->has("lr") ? factor_of(*config) : rates.rate > 0 ? rates.rate : 1;
  if (plan_.rates_.emplace(layer.name, rates).second) return;
  const std::string what = "two layers are named " + in_quotes(layer.name);
  if (config) config->fail("name", what, "layers without a name are numbered by type: conv1, conv2");
  throw Error(ExitCode::usage, what);
}

bool NestedPlan::layer_learns() const {
  return std::any_of(plan_.parameters_.begin() + static_cast<std::ptrdiff_t>(first_parameter_),
                     plan_.parameters_.end(), [](const Parameter& parameter) { return parameter.rate > 0; });
}

}  // namespace trainer
