#include "engine/math/convolution.h"

#include "engine/math/depthwise_convolution.h"
#include "engine/math/direct_convolution.h"
#include "engine/math/patches_convolution.h"

namespace trainer {
namespace {

std::int64_t out_extent(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                        std::int64_t dilation) {
  const std::int64_t room = in + 2 * pad - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

}  // namespace

std::int64_t ConvolutionGeometry::out_height() const {
  return out_extent(height, kernel_h, stride_h, pad_h, dilation_h);
}

std::int64_t ConvolutionGeometry::out_width() const {
  return out_extent(width, kernel_w, stride_w, pad_w, dilation_w);
}

std::unique_ptr<Convolution> make_convolution(const ConvolutionGeometry& geometry) {
  if (geometry.groups > 1 && geometry.groups == geometry.channels && geometry.groups == geometry.filters)
    return make_depthwise_convolution(geometry);
  return suits_direct_convolution(geometry) ? make_direct_convolution(geometry)
                                            : make_patches_convolution(geometry);
}

}  // namespace trainer
