#include "models/layers/plan.h"

#include <algorithm>

#include "engine/config/source.h"

namespace trainer {
namespace {

/// A cache line: every parameter and buffer begins on one.
constexpr std::int64_t kAlignment = 16;
constexpr std::int64_t kMaxFloats = std::int64_t{1} << 44;    // 64 TiB
constexpr std::int64_t kMaxProducts = std::int64_t{1} << 46;  // of one layer, a sample

std::int64_t aligned(std::int64_t floats) { return (floats + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

ParameterId Plan::parameter(Parameter parameter) {
  const bool is_bias = parameter.name.find("bias") != std::string::npos;
  const Rates& rates = parameter.layer.empty() ? layer_.rates : rates_.at(parameter.layer);
  if (parameter.layer.empty()) parameter.layer = layer_.name;
  parameter.name = parameter.layer + "." + parameter.name;
  if (std::ranges::count(parameters_, parameter.name, &Parameter::name) > 0)
    throw Error(ExitCode::usage, "two parameters are named " + in_quotes(parameter.name),
                "another `name` of a layer");
  parameter.offset = parameter_end_;
  const bool is_adapter = parameter.adapter != Parameter::Adapter::none;
  if (parameter.is_weight && !is_adapter) parameter.init = layer_.init;
  parameter.rate = is_adapter                                                      ? layer_.adapter_rate
                   : parameter.is_frozen || (rates.has_frozen_weights && !is_bias) ? 0
                                                                                   : rates.rate;
  parameter_end_ = after(parameter_end_, parameter.shape.size());
  parameters_.push_back(std::move(parameter));
  return {static_cast<int>(parameters_.size()) - 1};
}

std::optional<ParameterId> Plan::share(const std::string& full_name) {
  const auto found = std::ranges::find(parameters_, full_name, &Parameter::name);
  if (found == parameters_.end()) return std::nullopt;
  layer_.shared.push_back({found->offset, found->offset + found->shape.size()});
  return ParameterId{static_cast<int>(found - parameters_.begin()), found->uses++};
}

StateId Plan::state(State state) {
  state.name = layer_.name + "." + state.name;
  state.offset = state_end_;
  state_end_ = after(state_end_, state.shape.size());
  states_.push_back(std::move(state));
  return {static_cast<int>(states_.size()) - 1};
}

Buffer<> Plan::activation(std::int64_t per_row) {
  if (!stores_bfloat16()) return saved(per_row);
  layer_.activations.push_back({scratch(per_row), saved<Bfloat16>(per_row)});
  return layer_.activations.back().values;
}

std::int64_t Plan::take(Region region, std::int64_t rows, std::int64_t fixed) {
  const std::int64_t begin = region == Region::saved        ? saved_end_
                             : region == Region::recomputed ? recomputed_position_
                                                            : scratch_position_;
  const std::int64_t end = after(after(begin, rows), fixed);
  if (region == Region::saved) {
    saved_end_ = end;
  } else if (region == Region::recomputed) {
    recomputed_position_ = end;
    recomputed_end_ = std::max(recomputed_end_, end);
  } else {
    set_scratch_position(end);
  }
  return begin;
}

std::int64_t Plan::flops(const Shape& products) {
  const std::int64_t count = products.size();
  if (count > kMaxProducts)
    throw Error(ExitCode::usage, "a layer of " + std::to_string(count) + " products a sample is too large");
  return 2 * count;
}

std::int64_t Plan::after(std::int64_t end, std::int64_t floats) const {
  if (floats > kMaxFloats - end)
    throw Error(
        ExitCode::usage,
        "the model is too large: it requires more than " + std::to_string(kMaxFloats >> 38) + " TiB " +
            (layer_.name.empty() ? "for a batch of its input" : "up to layer " + in_quotes(layer_.name)));
  return aligned(end + floats);
}

void Plan::set_scratch_position(std::int64_t position) {
  scratch_position_ = position;
  scratch_end_ = std::max(scratch_end_, position);
}

}  // namespace trainer
