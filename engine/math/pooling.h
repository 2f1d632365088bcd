#pragma once

#include <cstdint>

namespace trainer {

/// One pooling's extents, for one image in (H, W, C). Padding counts for no maximum and no average.
struct PoolingGeometry {
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t size_h = 2, size_w = 2;
  std::int64_t stride_h = 2, stride_w = 2;
  std::int64_t pad_h = 0, pad_w = 0;  ///< on each side, at most size / 2

  /// floor((in + 2 pad - size) / stride) + 1; 0 when the window does not fit.
  std::int64_t out_height() const;
  std::int64_t out_width() const;
};

/// No position of a window that follows relu has this number.
constexpr std::uint8_t kNoWinner = 255;

/// y: (n, OH, OW, C). `winner` (may be null: evaluation) gets the position of each maximum inside its window,
/// as a byte (windows of at most 256 positions); the first of equal ones, NaN wins. `after_relu`: where the
/// maximum is 0 or below, it is kNoWinner (windows of at most 255 positions).
void max_pool(const PoolingGeometry& geometry, std::int64_t images, const float* x, float* y,
              std::uint8_t* winner, bool after_relu = false);
/// dx is overwritten.
void max_pool_backward(const PoolingGeometry& geometry, std::int64_t images, const float* dy,
                       const std::uint8_t* winner, float* dx);

/// Mean over the window's positions inside the image, or over all of them when `include_padding` (PyTorch's
/// default).
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
