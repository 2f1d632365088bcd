#include "engine/math/convolution.h"

#include "engine/math/depthwise_convolution.h"
#include "engine/math/direct_convolution.h"
#include "engine/math/patches_convolution.h"

namespace trainer {

std::unique_ptr<Convolution> make_convolution(const ConvolutionGeometry& geometry) {
  if (geometry.groups > 1 && geometry.groups == geometry.channels && geometry.groups == geometry.filters)
    return make_depthwise_convolution(geometry);
  return suits_direct_convolution(geometry) ? make_direct_convolution(geometry)
                                            : make_patches_convolution(geometry);
}

}  // namespace trainer
