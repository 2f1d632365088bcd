#pragma once

#include "models/losses/loss.h"

namespace trainer {

/// Loss::evaluate() of rows that are mixed: the mean of the losses of both labels, weighted by their shares.
/// `dy` is not empty; `memory` has the elements of one row.
double mixed_loss(const Loss& loss, ConstTensor y, const Targets& targets, float scale, Tensor dy,
                  std::span<float> memory);

}  // namespace trainer
