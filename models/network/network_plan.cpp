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

void NetworkPlan::add_low_rank_factors(const Compression& powersgd) {
  const int rank = powersgd.rank;
  for (const Parameter& parameter : parameters_) {
    if (parameter.shape.rank() < 2 || powersgd.sends_as_float32(parameter.shape.size())) continue;
    const std::int64_t columns = parameter.shape[parameter.shape.rank() - 1],
                       rows = parameter.shape.size() / columns;
    if ((rows + columns) * rank >= rows * columns) continue;
    states_.push_back({.name = parameter.name + kLowRankFactor,
                       .shape = {rank, columns},
                       .use = StateUse::training,
                       .offset = state_end_});
    state_end_ += rank * columns;
  }
}

}  // namespace trainer
