#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/math/activation.h"

namespace trainer {

/// One convolution's extents, for one image in (H, W, C). Padding is before and after, zero-valued.
struct ConvolutionGeometry {
  std::int64_t height = 0, width = 0, channels = 0, filters = 0;
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_h = 0, pad_w = 0;  ///< on each side
  std::int64_t dilation_h = 1, dilation_w = 1;
  std::int64_t groups = 1;  ///< divides channels and filters

  /// floor((in + 2 pad - dilation (kernel - 1) - 1) / stride) + 1; 0 when the kernel does not fit.
  std::int64_t out_height() const;
  std::int64_t out_width() const;
};

/// A convolution prepared for one geometry; which kernel serves it is a fixed function of the geometry and
/// the CPU's instructions. x: (n, H, W, C), y and dy: (n, OH, OW, filters), w: (kernel_h, kernel_w, C /
/// groups, filters) with filter f in group f / (filters / groups). Holds no data, so several threads may use
/// it at once, each with its own scratch.
class Convolution {
 public:
  virtual ~Convolution() = default;

  /// Floats of scratch that each call needs, for any number of images.
  virtual std::int64_t scratch_size() const = 0;
  /// "direct 5x5", "patches", for `trainer time` and `trainer summary`.
  virtual std::string kernel() const = 0;

  /// y = activation(x * w + bias); bias may be null.
  virtual void forward(std::int64_t images, const float* x, const float* w, const float* bias,
                       Activation activation, float* y, float* scratch) const = 0;
  /// dx is overwritten.
  virtual void backward_data(std::int64_t images, const float* dy, const float* w, float* dx,
                             float* scratch) const = 0;
  /// dw and dbias (may be null) are overwritten, or added to when `accumulate`.
  virtual void backward_weights(std::int64_t images, const float* x, const float* dy, float* dw, float* dbias,
                                bool accumulate, float* scratch) const = 0;
};

std::unique_ptr<Convolution> make_convolution(const ConvolutionGeometry& geometry);

namespace reference {
/// The plain loops that every other kernel is held to.
std::unique_ptr<Convolution> make_convolution(const ConvolutionGeometry& geometry);
}  // namespace reference

}  // namespace trainer
