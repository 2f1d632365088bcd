#include "models/training/parameter_norms.h"

#include <utility>

namespace trainer {

void ParameterNorms::find(OptimizerShard& shard, AllReduce& scalars, Communicator& model) {
  const auto for_each = [&](const auto& visit) {
    shard.visit_counted([&](int parameter, std::span<const float> values, std::span<const float> directions) {
      visit(static_cast<std::size_t>(parameter), values);
      visit(parameters_ + static_cast<std::size_t>(parameter), directions);
    });
  };
  const std::span<const double> norms = norms_.find(for_each, scalars, model);
  shard.set_norms([&](int parameter) {
    const auto index = static_cast<std::size_t>(parameter);
    return std::pair(norms[index], norms[parameters_ + index]);
  });
}

}  // namespace trainer
