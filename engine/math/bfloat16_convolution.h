#pragma once

#include <memory>

#include "engine/math/convolution.h"

namespace trainer {

/// A convolution whose products are of bfloat16 (precision.h): direct kernels on pairs of values. Values pair
/// along the inputs of a group in forward, its filters in backward_data, and columns in backward_weights;
/// where these inputs or filters are odd in number, the products are float32. For geometries that
/// suits_direct_convolution().
std::unique_ptr<Convolution> make_bfloat16_convolution(const ConvolutionGeometry& geometry);

}  // namespace trainer
