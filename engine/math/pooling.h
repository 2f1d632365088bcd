#pragma once

#include <cstdint>

#include "engine/math/types/pooling_geometry.h"

namespace trainer {

/// x: (images, H, W, C), y: (images, OH, OW, C). `winner`, like y, gets the position of each maximum in its
/// window, row by row; null in an evaluation. The first of equal values wins; NaN wins over all. Windows have
/// at most 256 positions. `after_relu`: x is an output of relu; a maximum of 0 or less has kNoWinner, and
/// windows have at most 255 positions.
void max_pool(const PoolingGeometry& geometry, std::int64_t images, const float* x, float* y,
              std::uint8_t* winner, bool after_relu = false);
/// dx is overwritten.
void max_pool_backward(const PoolingGeometry& geometry, std::int64_t images, const float* dy,
                       const std::uint8_t* winner, float* dx);

/// The mean over the positions of a window that are inside the image; over all if `include_padding`, as is
/// PyTorch's default.
void average_pool(const PoolingGeometry& geometry, std::int64_t images, const float* x, bool include_padding,
                  float* y);
/// dx is overwritten.
void average_pool_backward(const PoolingGeometry& geometry, std::int64_t images, const float* dy,
                           bool include_padding, float* dx);

namespace reference {
void max_pool(const PoolingGeometry& geometry, std::int64_t images, const float* x, float* y,
              std::uint8_t* winner, bool after_relu = false);
void max_pool_backward(const PoolingGeometry& geometry, std::int64_t images, const float* dy,
                       const std::uint8_t* winner, float* dx);
void average_pool(const PoolingGeometry& geometry, std::int64_t images, const float* x, bool include_padding,
                  float* y);
void average_pool_backward(const PoolingGeometry& geometry, std::int64_t images, const float* dy,
                           bool include_padding, float* dx);
}  // namespace reference

}  // namespace trainer
