#include "models/training/compressed_parameters.h"

#include <algorithm>

namespace trainer {

std::vector<CompressedParameter> compressed_parameters(Network& network, const Compression& compression) {
  std::vector<CompressedParameter> result;
  const std::vector<State>& states = network.plan().states();
  for (const Parameter& parameter : network.plan().parameters()) {
    const std::int64_t size = parameter.shape.size();
    CompressedParameter compressed{.range = {parameter.offset, parameter.offset + size},
                                   .in_float32 = compression.sends_as_float32(size)};
    const auto factor = std::ranges::find(states, parameter.name + NetworkPlan::kLowRankFactor, &State::name);
    if (factor != states.end()) {
      compressed.columns = factor->shape[1];
      compressed.rows = size / compressed.columns;
      compressed.factor = network.states().subspan(static_cast<std::size_t>(factor->offset),
                                                   static_cast<std::size_t>(factor->shape.size()));
    }
    result.push_back(compressed);
  }
  return result;
}

}  // namespace trainer
