#pragma once

#include <span>

#include "models/network/network_plan.h"

namespace trainer {

/// The number of values of all layer states that belong to the model (running statistics).
std::int64_t model_state_values(const NetworkPlan& plan);
/// Copies them out of a network's states, one state after the other.
void take_model_states(const NetworkPlan& plan, std::span<const float> states, std::span<float> values);
/// The reverse.
void set_model_states(const NetworkPlan& plan, std::span<const float> values, std::span<float> states);

}  // namespace trainer
