#include "models/checkpoints/residual_states.h"

#include <algorithm>

#include "engine/math/elementwise.h"
#include "models/checkpoints/weights.h"

namespace trainer {

ResidualStates::ResidualStates(TrainingParts& parts) : parts_(parts) {
  for (int rank = 0; rank < parts.session.mesh().data().size(); ++rank) names_.push_back(name_of(rank));
}

std::string ResidualStates::name_of(std::int64_t rank) { return "rank" + std::to_string(rank) + ".residual"; }

std::span<float> ResidualStates::values(std::size_t state) {
  const auto rank = static_cast<std::size_t>(parts_.session.mesh().data().rank());
  return state == rank ? parts_.reducer->residual() : std::span<float>();
}

std::vector<std::string> ResidualStates::names_in(const Checkpoint& checkpoint, const NetworkPlan& plan) {
  std::vector<std::string> names{name_of(0)};
  if (plan.parameters().empty()) return names;
  const std::string& first = plan.parameters().front().name;
  const auto has = [&](const std::string& name) {
    return std::ranges::find(checkpoint.optimizer, first + "." + name, &NamedTensor::name) !=
           checkpoint.optimizer.end();
  };
  for (std::string next = name_of(1); has(next); next = name_of(std::ssize(names))) names.push_back(next);
  return names;
}

void ResidualStates::restore(const Checkpoint& checkpoint) {
  Communicator& world = parts_.session.mesh().world();
  const NetworkPlan& plan = parts_.session.network().plan();
  std::int64_t count = world.rank() == 0 ? std::ssize(names_in(checkpoint, plan)) : 0;
  world.sum(std::span(&count, 1));
  const Range mine = part_of(count, parts_.session.mesh().data().rank(), std::ssize(names_));
  const std::span<float> residual = parts_.reducer->residual();
  std::ranges::fill(residual, 0.0f);
  std::vector<float> flat(residual.size());
  for (std::int64_t rank = 0; rank < count; ++rank) {
    spread_tensors(checkpoint.optimizer, plan, "." + name_of(rank), flat, world);
    if (rank >= mine.first && rank < mine.last) accumulate(std::ssize(flat), flat.data(), residual.data());
  }
}

}  // namespace trainer
