#include "engine/math/types/convolution_geometry.h"
#include "engine/math/types/pooling_geometry.h"

namespace trainer {
namespace {

std::int64_t out_extent(std::int64_t in, std::int64_t window, std::int64_t stride, std::int64_t pad) {
  const std::int64_t room = in + 2 * pad - window;
  return room < 0 ? 0 : room / stride + 1;
}

/// Pixels from the first to the last tap.
std::int64_t reach(std::int64_t kernel, std::int64_t dilation) { return dilation * (kernel - 1) + 1; }

}  // namespace

std::int64_t ConvolutionGeometry::out_height() const {
  return out_extent(height, reach(kernel_h, dilation_h), stride_h, pad_h);
}
std::int64_t ConvolutionGeometry::out_width() const {
  return out_extent(width, reach(kernel_w, dilation_w), stride_w, pad_w);
}

std::int64_t PoolingGeometry::out_height() const { return out_extent(height, size_h, stride_h, pad_h); }
std::int64_t PoolingGeometry::out_width() const { return out_extent(width, size_w, stride_w, pad_w); }

}  // namespace trainer
