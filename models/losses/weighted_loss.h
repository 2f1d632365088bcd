#pragma once

#include "models/losses/loss.h"

namespace trainer {

/// Loss::evaluate() of rows with weights: each row's loss and gradient times its weight.
double weighted_loss(const Loss& loss, ConstTensor y, const Targets& targets, float scale, Tensor dy);

}  // namespace trainer
