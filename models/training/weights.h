#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/parallel/communicator.h"
#include "engine/parallel/mesh.h"
#include "models/export/safetensors.h"
#include "models/network/plan.h"

namespace trainer {

/// Flat parameters (or an optimizer state, which lies like them) of all model ranks as whole tensors in file
/// layout, in the order of the plan, on model rank 0; empty elsewhere. Collective over mesh.model().
std::vector<NamedTensor> gather_tensors(const Plan& plan, std::span<const float> values, Mesh& mesh);
/// Running statistics and the like, which every rank holds alike.
std::vector<NamedTensor> state_tensors(const Plan& plan, std::span<const float> states);

/// Error(weights) lists how the tensors that `place` holds differ in name or shape from what a checkpoint of
/// this plan holds: from its parameters with each suffix behind their names, and from its states if told.
void check_tensors(const std::vector<NamedTensor>& tensors, const Plan& plan,
                   const std::vector<std::string>& suffixes, bool with_states, const std::string& place);
/// The reverse of gather_tensors() on all ranks: world rank 0 has the tensors, whose names end in `suffix`.
/// Collective.
void spread_tensors(const std::vector<NamedTensor>& tensors, const Plan& plan, const std::string& suffix,
                    std::span<float> values, Communicator& world);
/// The same for states.
void spread_states(const std::vector<NamedTensor>& tensors, const Plan& plan, std::span<float> states,
                   Communicator& world);

/// This rank's part of a file's tensors into flat parameters and states. Error(weights) lists the names that
/// are missing, unknown or of another shape. Not collective.
void load_weights(const std::string& path, const Plan& plan, std::span<float> values,
                  std::span<float> states);

}  // namespace trainer
