#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/parallel/communicator.h"
#include "engine/parallel/mesh.h"
#include "models/formats/safetensors.h"
#include "models/network/network_plan.h"

namespace trainer {

/// A parameter's whole tensor in memory layout, from the parts of the model ranks, on model rank 0 (where the
/// parameter is not cut: on all). Collective over `model`.
std::vector<float> whole_tensor(const Parameter& parameter, std::span<const float> mine, Communicator& model);

/// Error(weights) lists how the tensors that `place` holds differ in name or shape from what a checkpoint of
/// this plan holds: from its parameters with each suffix behind their names, and from its states if told.
void check_tensors(const std::vector<NamedTensor>& tensors, const NetworkPlan& plan,
                   const std::vector<std::string>& suffixes, bool with_states, const std::string& place);
/// Whole tensors in file layout, which world rank 0 has under the parameters' names with `suffix` behind
/// them, into the flat parameters of every rank, or into an optimizer state that lies like them. Collective.
void spread_tensors(const std::vector<NamedTensor>& tensors, const NetworkPlan& plan,
                    const std::string& suffix, std::span<float> values, Communicator& world);
/// The same for states.
void spread_states(const std::vector<NamedTensor>& tensors, const NetworkPlan& plan, std::span<float> states,
                   Communicator& world);

/// This rank's part of a file's tensors into flat parameters and states. Error(weights) lists the names that
/// are missing, unknown or of another shape. Not collective.
void load_weights(const std::string& path, const NetworkPlan& plan, std::span<float> values,
                  std::span<float> states);
/// The same, but those of some layers stay as they are, and what the file holds besides is left alone.
void load_weights_except(const std::vector<std::string>& layers, const std::string& path,
                         const NetworkPlan& plan, std::span<float> values, std::span<float> states);

}  // namespace trainer
