#pragma once

#include <cstdint>

namespace trainer {

/// The extents of one pooling, for one image in (H, W, C). Padding never counts in a maximum.
struct PoolingGeometry {
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t size_h = 2, size_w = 2;
  std::int64_t stride_h = 2, stride_w = 2;
  std::int64_t pad_h = 0, pad_w = 0;  ///< on each side, at most size / 2

  /// floor((in + 2 pad - size) / stride) + 1; 0 if the window does not fit.
  std::int64_t out_height() const;
  std::int64_t out_width() const;
};

/// In place of a position: the maximum passes no gradient.
constexpr std::uint8_t kNoWinner = 255;

}  // namespace trainer
