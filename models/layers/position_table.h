#pragma once

#include "models/layers/pass.h"

namespace trainer {

/// The gradient of a learned table (positions, units) whose lines are added to the positions of sequences:
/// the sum of dy (rows, positions, units) over a virtual worker's rows, by the position in the document.
void sum_by_position(ConstTensor dy, const VirtualWorker& worker, Tensor gradient, const Pass& pass);

}  // namespace trainer
