#pragma once

#include <memory>

#include "engine/math/convolution.h"

namespace trainer {

struct ConvolutionKernels;

/// Whether the direct kernels serve this geometry well.
bool suits_direct_convolution(const ConvolutionGeometry& geometry);

/// A convolution straight from the image, with sums in registers.
std::unique_ptr<Convolution> make_direct_convolution(const ConvolutionGeometry& geometry);
/// The same by these kernels; `portable`: its sums have one order for all of them (Correlation::portable).
std::unique_ptr<Convolution> make_direct_convolution(const ConvolutionGeometry& geometry,
                                                     const ConvolutionKernels& kernels, bool portable);

}  // namespace trainer
