#include "models/network/network_plan.h"

namespace trainer {

std::vector<std::int64_t> NetworkPlan::parameter_borders() const {
  std::vector<std::int64_t> borders;
  for (const Parameter& parameter : parameters_) borders.push_back(parameter.offset);
  borders.push_back(parameter_end_);
  return borders;
}

}  // namespace trainer
