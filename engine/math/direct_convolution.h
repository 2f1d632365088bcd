#pragma once

#include <memory>

#include "engine/math/convolution.h"

namespace trainer {

/// Whether the direct kernels serve this geometry well.
bool suits_direct_convolution(const ConvolutionGeometry& geometry);

/// A convolution straight from the image, with sums in registers.
std::unique_ptr<Convolution> make_direct_convolution(const ConvolutionGeometry& geometry);

}  // namespace trainer
