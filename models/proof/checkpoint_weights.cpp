#include "models/proof/checkpoint_weights.h"

#include <algorithm>

#include "engine/math/fingerprint.h"
#include "models/formats/layout.h"

namespace trainer {

FingerprintSums weights_of(const Checkpoint& checkpoint, const NetworkPlan& plan) {
  FingerprintSums sum;
  for (std::size_t i = 0; i < plan.parameters().size(); ++i) {
    const Parameter& parameter = plan.parameters()[i];
    // With an EMA the checkpoint stores the average as its weights.
    auto tensor = std::ranges::find(checkpoint.optimizer, parameter.name + ".unaveraged", &NamedTensor::name);
    if (tensor == checkpoint.optimizer.end())
      tensor = std::ranges::find(checkpoint.model, parameter.name, &NamedTensor::name);
    sum.add(i, fingerprint(to_memory_layout(parameter.layout, parameter.whole_shape(), tensor->values), 0));
  }
  for (std::size_t i = 0; i < plan.states().size(); ++i) {
    const State& state = plan.states()[i];
    if (state.use == StateUse::model)
      sum.add(plan.parameters().size() + i,
              fingerprint(std::ranges::find(checkpoint.model, state.name, &NamedTensor::name)->values, 0));
  }
  return sum;
}

}  // namespace trainer
