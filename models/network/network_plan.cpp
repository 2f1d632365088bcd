#include "models/network/network_plan.h"

#include <algorithm>

namespace trainer {

std::vector<std::int64_t> NetworkPlan::parameter_borders() const {
  std::vector<std::int64_t> borders;
  for (const Parameter& parameter : parameters_) borders.push_back(parameter.offset);
  borders.push_back(parameter_end_);
  return borders;
}

bool NetworkPlan::is_hidden_matrix(const Parameter& parameter) const {
  const auto is_matrix = [](const Parameter& one) {
    return one.is_weight && one.layout != FileLayout::as_in_memory;
  };
  if (!is_matrix(parameter)) return false;
  const bool is_tied = std::ranges::any_of(
      parameters_, [&](const Parameter& one) { return one.is_weight && !is_matrix(one) && one.uses > 1; });
  const auto last = std::ranges::find_if(parameters_.rbegin(), parameters_.rend(), is_matrix);
  return is_tied || parameter.module() != last->module();
}

void NetworkPlan::add_feedback_states(const Compression& compression) {
  const auto add = [&](std::string name, const Shape& shape) {
    states_.push_back(
        {.name = std::move(name), .shape = shape, .use = StateUse::training, .offset = state_end_});
    state_end_ += shape.size();
  };
  for (const Parameter& parameter : parameters_) {
    const Shape& shape = parameter.shape;
    if (compression.sends_as_float32(shape.size())) continue;
    if (compression.momentum > 0) add(parameter.name + kSentMomentum, shape);
    if (compression.method != Compression::Method::powersgd || shape.rank() < 2) continue;
    const std::int64_t columns = shape[shape.rank() - 1], rows = shape.size() / columns;
    if ((rows + columns) * compression.rank < rows * columns)
      add(parameter.name + kLowRankFactor, {compression.rank, columns});
  }
}

}  // namespace trainer
