#include "models/training/compressed_parameters.h"

#include <algorithm>

namespace trainer {
namespace {

/// Of a state; empty if the network has none of this name.
std::span<float> values_of(Network& network, const std::string& state) {
  const std::vector<State>& states = network.plan().states();
  const auto found = std::ranges::find(states, state, &State::name);
  if (found == states.end()) return {};
  return network.states().subspan(static_cast<std::size_t>(found->offset),
                                  static_cast<std::size_t>(found->shape.size()));
}

}  // namespace

std::vector<CompressedParameter> compressed_parameters(Network& network, const Compression& compression) {
  std::vector<CompressedParameter> result;
  for (const Parameter& parameter : network.plan().parameters()) {
    const std::int64_t size = parameter.shape.size();
    CompressedParameter compressed{.range = {parameter.offset, parameter.offset + size},
                                   .in_float32 = compression.sends_as_float32(size)};
    compressed.momentum = values_of(network, parameter.name + NetworkPlan::kSentMomentum);
    compressed.factor = values_of(network, parameter.name + NetworkPlan::kLowRankFactor);
    if (!compressed.factor.empty()) {
      compressed.columns = parameter.shape[parameter.shape.rank() - 1];
      compressed.rows = size / compressed.columns;
    }
    result.push_back(compressed);
  }
  return result;
}

}  // namespace trainer
