#include "models/network/network_plan.h"

namespace trainer {

std::vector<std::int64_t> NetworkPlan::parameter_borders() const {
  std::vector<std::int64_t> borders;
  for (const Parameter& parameter : parameters_) borders.push_back(parameter.offset);
  borders.push_back(parameter_end_);
  return borders;
}

void NetworkPlan::add_low_rank_factors(int rank) {
  for (const Parameter& parameter : parameters_) {
    if (parameter.shape.rank() < 2) continue;
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
