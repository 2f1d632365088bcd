#pragma once

#include <cstdint>

namespace trainer {

/// The extents of one convolution, for one image in (H, W, C), in pixels. Padding is zeros.
struct ConvolutionGeometry {
  std::int64_t height = 0, width = 0, channels = 0, filters = 0;
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_h = 0, pad_w = 0;  ///< on each side
  std::int64_t dilation_h = 1, dilation_w = 1;
  std::int64_t groups = 1;  ///< divides channels and filters

  /// floor((in + 2 pad - dilation (kernel - 1) - 1) / stride) + 1; 0 if the kernel does not fit.
  std::int64_t out_height() const;
  std::int64_t out_width() const;
};

}  // namespace trainer
