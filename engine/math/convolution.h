#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/math/types/activation.h"
#include "engine/math/types/convolution_geometry.h"

namespace trainer {

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
