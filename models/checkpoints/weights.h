#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/flat_values.h"
#include "engine/parallel/communicator.h"
#include "engine/parallel/mesh.h"
#include "models/formats/safetensors.h"
#include "models/network/network_plan.h"

namespace trainer {

/// A parameter's whole tensor in memory layout, from the shards of the model ranks, on model rank 0 (if the
/// parameter is not sharded: on all). Collective over `model`.
std::vector<float> whole_tensor(const Parameter& parameter, std::span<const float> mine, Communicator& model);

/// Error(weights) lists how the tensors of `place` differ in name or shape from those of this plan: its
/// parameters, with each suffix after their names, and its states of this use.
void check_tensors(const std::vector<NamedTensor>& tensors, const NetworkPlan& plan,
                   const std::vector<std::string>& suffixes, StateUse states, const std::string& place);
/// Distributes whole tensors in file layout into flat parameters, or into an optimizer state of the same
/// layout. World rank 0 has the tensors, under the parameters' names with `suffix`. Collective.
void spread_tensors(const std::vector<NamedTensor>& tensors, const NetworkPlan& plan,
                    const std::string& suffix, const FlatValues<float>& values, Communicator& world);
/// The same, parameter by parameter: place(parameter, take) calls take(values) with room for this rank's
/// shard of it.
using TakeValues = std::function<void(std::span<float>)>;
void spread_tensors(const std::vector<NamedTensor>& tensors, const NetworkPlan& plan,
                    const std::string& suffix, Communicator& world,
                    const std::function<void(const Parameter&, const TakeValues&)>& place);
/// The same for the states of a use.
void spread_states(const std::vector<NamedTensor>& tensors, const NetworkPlan& plan, StateUse use,
                   std::span<float> states, Communicator& world);

/// Loads this rank's shard of a file's tensors into flat parameters and states of the model. Error(weights)
/// lists names that are missing, unknown or of another shape. Not collective.
void load_weights(const std::string& path, const NetworkPlan& plan, const FlatValues<float>& values,
                  std::span<float> states);
/// Error(weights) if the path is that of a directory; the help names a file inside.
void check_is_file(const std::string& path);
/// For a path that is no weights file, such as a run or a missing path: the weights file to name instead.
std::string likely_weights(const std::filesystem::path& path);
/// Help for a directory of Hugging Face, or a file inside one: how to take its weights. Else empty.
std::string help_for_huggingface(const std::filesystem::path& path);

}  // namespace trainer
