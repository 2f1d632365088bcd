#pragma once

#include <string>

#include "models/planning/placed_step.h"

namespace trainer {

/// The schedule of a step for programs, one JSON object: what a rank computes and exchanges in the order in
/// which it does so, and the predicted times. Seconds, bytes, and ranges of floats of the flat buffer.
/// `cost`: of the link between hosts.
std::string plan_json(const PlacedStep& step, const ComputingTimes& computing, const LinkCost& cost);

}  // namespace trainer
