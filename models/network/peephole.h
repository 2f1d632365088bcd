#pragma once

#include "models/layers/sequence.h"

namespace trainer {

/// Before setup: where max_pool follows a convolution that ends in ReLU, max_pool applies the derivative of
/// ReLU in its backward, which looks at the winner of each window only. Also in sequences inside layers.
void fuse_relu_backward(Sequence& layers);

}  // namespace trainer
