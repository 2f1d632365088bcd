#include "models/network/plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "engine/config/source.h"

namespace trainer {
namespace {

/// A cache line: every parameter and buffer begins on one.
constexpr std::int64_t kAlignment = 16;
constexpr std::int64_t kMostFloats = std::int64_t{1} << 44;    // 64 TiB
constexpr std::int64_t kMostProducts = std::int64_t{1} << 46;  // of one layer, a sample

std::int64_t aligned(std::int64_t floats) { return (floats + kAlignment - 1) / kAlignment * kAlignment; }

/// The factor of "x0.1".
float factor_of(const Config& config) {
  const std::string text = config.get<std::string>("lr");
  float factor = -1;
  const char* const end = text.data() + text.size();
  const bool begins = text.starts_with('x');
  const auto [stop, problem] = std::from_chars(text.data() + (begins ? 1 : 0), end, factor);
  if (!begins || problem != std::errc() || stop != end || !(factor >= 0) || !std::isfinite(factor))
    config.fail("lr",
                "a layer's `lr` is how many times as fast it learns as the others, got " + in_quotes(text),
                "`lr: x2`, or `frozen: true`");
  return factor;
}

/// How fast a layer learns; one without settings of its own as fast as `common`.
float rate_of(const Config& config, float common) {
  const float rate = config.has("lr") ? factor_of(config) : common;
  if (!config.has("frozen")) return rate;
  if (config.get<bool>("frozen")) return 0;
  return rate > 0 ? rate : 1;  // inside a frozen layer
}

}  // namespace

void Plan::begin_layer(const Config* config, const std::string& type, const std::string& declared) {
  layer_ = {.name = declared.empty() ? type + std::to_string(++counts_[type]) : declared};
  if (config && config->has("init")) layer_.init = config->at("init");
  layer_.rate = config ? rate_of(*config, common_rate_) : common_rate_;
  if (names_.insert(layer_.name).second) return;
  const std::string what = "two layers are named " + in_quotes(layer_.name);
  if (config) config->fail("name", what, "layers without a name are numbered by type: conv1, conv2");
  throw Error(ExitCode::usage, what);
}

ParameterId Plan::parameter(Parameter parameter) {
  parameter.name = (parameter.layer.empty() ? layer_.name : parameter.layer) + "." + parameter.name;
  parameter.offset = parameter_end_;
  if (parameter.is_weight) parameter.init = layer_.init;
  parameter.rate = layer_.rate;
  if (!parameter.layer.empty())
    for (const Parameter& other : parameters_)
      if (other.name == parameter.layer + ".weight") parameter.rate = other.rate;
  parameter_end_ = after(parameter_end_, parameter.shape.size());
  parameters_.push_back(std::move(parameter));
  return {static_cast<int>(parameters_.size()) - 1};
}

std::optional<ParameterId> Plan::share(const std::string& full_name) {
  const auto found = std::ranges::find(parameters_, full_name, &Parameter::name);
  if (found == parameters_.end() || found->cut_axis >= 0) return std::nullopt;
  return ParameterId{static_cast<int>(found - parameters_.begin()), found->uses++};
}

StateId Plan::state(State state) {
  state.name = layer_.name + "." + state.name;
  state.offset = state_end_;
  state_end_ = after(state_end_, state.shape.size());
  states_.push_back(std::move(state));
  return {static_cast<int>(states_.size()) - 1};
}

BufferId Plan::saved(std::int64_t per_row, std::int64_t fixed) {
  const BufferId id{saved_end_, per_row, fixed};
  saved_end_ = after(after(saved_end_, Shape{max_rows_, per_row}.size()), fixed);
  return id;
}

BufferId Plan::scratch(std::int64_t per_row, std::int64_t fixed) {
  const BufferId id{scratch_position_, per_row, fixed, true};
  set_scratch_position(after(after(scratch_position_, Shape{max_rows_, per_row}.size()), fixed));
  return id;
}

std::int64_t Plan::flops(const Shape& products) {
  const std::int64_t count = products.size();
  if (count > kMostProducts)
    throw Error(ExitCode::usage, "a layer of " + std::to_string(count) + " products a sample is too large");
  return 2 * count;
}

std::int64_t Plan::after(std::int64_t end, std::int64_t floats) const {
  if (floats > kMostFloats - end)
    throw Error(
        ExitCode::usage,
        "the model is too large: it wants more than " + std::to_string(kMostFloats >> 38) + " TiB " +
            (layer_.name.empty() ? "for a batch of its input" : "up to layer " + in_quotes(layer_.name)));
  return aligned(end + floats);
}

void Plan::set_scratch_position(std::int64_t position) {
  scratch_position_ = position;
  scratch_end_ = std::max(scratch_end_, position);
}

std::vector<std::int64_t> Plan::parameter_borders() const {
  std::vector<std::int64_t> borders;
  for (const Parameter& parameter : parameters_) borders.push_back(parameter.offset);
  borders.push_back(parameter_end_);
  return borders;
}

}  // namespace trainer
