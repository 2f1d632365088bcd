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
      outer_rate_(std::exchange(plan.common_rate_, outer_.rate)),
      has_outer_frozen_weights_(std::exchange(plan.has_common_frozen_weights_, outer_.has_frozen_weights)),
      scratch_begin_(plan.scratch_position_),
      scratch_end_(scratch_begin_) {}

NestedPlan::~NestedPlan() {
  plan_.set_scratch_position(std::max(scratch_end_, plan_.scratch_position_));
  plan_.layer_ = outer_;
  plan_.common_rate_ = outer_rate_;
  plan_.has_common_frozen_weights_ = has_outer_frozen_weights_;
}

void NestedPlan::begin_layer(const Config* config, const std::string& type, const std::string& declared) {
  scratch_end_ = std::max(scratch_end_, plan_.scratch_position_);
  plan_.set_scratch_position(scratch_begin_);
  first_parameter_ = plan_.parameters_.size();
  Plan::Current& layer = plan_.layer_;
  layer = {.name = declared.empty() ? type + std::to_string(++plan_.counts_[type]) : declared};
  if (config && config->has("init")) layer.init = config->at("init");
  layer.rate = config ? rate_of(*config, plan_.common_rate_) : plan_.common_rate_;
  layer.adapter_rate = config && config->has("lr") ? factor_of(*config) : layer.rate > 0 ? layer.rate : 1;
  layer.has_frozen_weights = config && config->has("frozen") ? config->is_word("frozen", "weights")
                                                             : plan_.has_common_frozen_weights_;
  if (plan_.names_.insert(layer.name).second) return;
  const std::string what = "two layers are named " + in_quotes(layer.name);
  if (config) config->fail("name", what, "layers without a name are numbered by type: conv1, conv2");
  throw Error(ExitCode::usage, what);
}

bool NestedPlan::layer_learns() const {
  return std::any_of(plan_.parameters_.begin() + static_cast<std::ptrdiff_t>(first_parameter_),
                     plan_.parameters_.end(), [](const Parameter& parameter) { return parameter.rate > 0; });
}

}  // namespace trainer
