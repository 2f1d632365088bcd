#pragma once

#include <span>
#include <vector>

#include "models/formats/safetensors.h"
#include "models/network/network_plan.h"

namespace trainer {

/// The values of one process with each adapter added to its weight, W + scale x A B.
std::vector<float> merged_values(const NetworkPlan& plan, std::span<const float> values);
/// The tensors of a checkpoint with each adapter added to its weight, without those of adapters.
std::vector<NamedTensor> merged_tensors(const NetworkPlan& plan, std::vector<NamedTensor> tensors);

}  // namespace trainer
