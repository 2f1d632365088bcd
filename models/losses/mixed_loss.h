#pragma once

#include "models/losses/loss.h"

namespace trainer {

/// The loss of rows that are mixtures of two samples: what it is for either label, in their shares. As
/// Loss::evaluate(), always with a gradient; `memory` is for that of one row.
double mixed_loss(const Loss& loss, ConstTensor y, const Targets& targets, float scale, Tensor dy,
                  std::span<float> memory);

}  // namespace trainer
