#include "engine/math/pooling.h"

#include "engine/math/kernels/kernels.h"

namespace trainer {
namespace {

std::int64_t out_extent(std::int64_t in, std::int64_t size, std::int64_t stride, std::int64_t pad) {
  const std::int64_t room = in + 2 * pad - size;
  return room < 0 ? 0 : room / stride + 1;
}

}  // namespace

std::int64_t PoolingGeometry::out_height() const { return out_extent(height, size_h, stride_h, pad_h); }
std::int64_t PoolingGeometry::out_width() const { return out_extent(width, size_w, stride_w, pad_w); }

void max_pool(const PoolingGeometry& geometry, std::int64_t images, const float* x, float* y,
              std::uint8_t* winner, bool after_relu) {
  kernels().pooling->max_pool(geometry, images, x, y, winner, after_relu);
}

void max_pool_backward(const PoolingGeometry& geometry, std::int64_t images, const float* dy,
                       const std::uint8_t* winner, float* dx) {
  kernels().pooling->max_pool_backward(geometry, images, dy, winner, dx);
}

void average_pool(const PoolingGeometry& geometry, std::int64_t images, const float* x, bool include_padding,
                  float* y) {
  kernels().pooling->average_pool(geometry, images, x, include_padding, y);
}

void average_pool_backward(const PoolingGeometry& geometry, std::int64_t images, const float* dy,
                           bool include_padding, float* dx) {
  kernels().pooling->average_pool_backward(geometry, images, dy, include_padding, dx);
}

}  // namespace trainer
