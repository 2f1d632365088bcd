#pragma once

#include <memory>

#include "engine/math/convolution.h"

namespace trainer {

/// Any convolution as a matrix product, with the inputs of each output laid out as a row ("im2col").
std::unique_ptr<Convolution> make_patches_convolution(const ConvolutionGeometry& geometry);

}  // namespace trainer
