#include "engine/math/pooling.h"

#include "engine/math/kernels/kernels.h"

namespace trainer {

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
