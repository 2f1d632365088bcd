#pragma once

#include <memory>

#include "engine/math/convolution.h"

namespace trainer {

/// A convolution in which every channel is a group with one filter.
std::unique_ptr<Convolution> make_depthwise_convolution(const ConvolutionGeometry& geometry);

}  // namespace trainer
