#pragma once

#include "models/layers/sequence.h"

namespace trainer {

/// Before setup: if max_pool follows a convolution that ends in ReLU, the backward of max_pool applies the
/// derivative of ReLU, and only at the maximum of each window. Also in sequences inside layers.
void fuse_relu_backward(Sequence& layers);

}  // namespace trainer
