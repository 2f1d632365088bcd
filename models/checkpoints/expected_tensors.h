#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/core/flat_values.h"
#include "models/formats/safetensors.h"
#include "models/network/network_plan.h"

namespace trainer {

/// A tensor that a file must hold for a plan.
struct ExpectedTensor {
  Shape file_shape;
  const Parameter* parameter = nullptr;  ///< null for a state
  const State* state = nullptr;
};

/// By name: the plan's parameters, with each suffix after their names, and its states of this use.
std::map<std::string, ExpectedTensor> expected_tensors(const NetworkPlan& plan,
                                                       const std::vector<std::string>& suffixes,
                                                       StateUse states);

/// Puts a tensor of the expected shape, or this rank's shard of it, into flat parameters or states.
void take_tensor(const NamedTensor& tensor, const ExpectedTensor& expected, const FlatValues<float>& values,
                 std::span<float> states);

/// Error(weights) with the first of these notes, each a way in which the weights of `place` do not fit.
[[noreturn]] void fail_to_load(std::vector<std::string> notes, const std::string& place,
                               const std::string& help = "");

}  // namespace trainer
