#include "engine/math/convolution.h"

#include "engine/math/bfloat16_convolution.h"
#include "engine/math/depthwise_convolution.h"
#include "engine/math/direct_convolution.h"
#include "engine/math/patches_convolution.h"
#include "engine/math/precision.h"

namespace trainer {

std::unique_ptr<Convolution> make_convolution(const ConvolutionGeometry& geometry) {
  if (geometry.groups > 1 && geometry.groups == geometry.channels && geometry.groups == geometry.filters)
    return make_depthwise_convolution(geometry);
  if (!suits_direct_convolution(geometry)) return make_patches_convolution(geometry);
  return precision_in_use() == Precision::bf16 ? make_bfloat16_convolution(geometry)
                                               : make_direct_convolution(geometry);
}

}  // namespace trainer
