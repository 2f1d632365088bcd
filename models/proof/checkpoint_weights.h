#pragma once

#include "models/checkpoints/checkpoint.h"
#include "models/network/network_plan.h"
#include "models/proof/chain.h"

namespace trainer {

/// The fingerprint of a checkpoint's weights and states, as its step has it in the chain. The checkpoint fits
/// the plan (check_tensors()).
FingerprintSums weights_of(const Checkpoint& checkpoint, const NetworkPlan& plan);

}  // namespace trainer
