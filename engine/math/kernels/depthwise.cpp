// Every channel for itself, a vector of them at a time. An output is one chain of multiply-adds over its
// taps.

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"
#include "engine/math/kernels/multiply_add.h"
#include "engine/math/kernels/vector.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// Calls body(first element of x, of w) for every tap of one output pixel that lies in the image.
template <class Body>
inline void for_each_tap(const ConvolutionGeometry& g, std::int64_t oy, std::int64_t ox, Body body) {
  const std::int64_t top = oy * g.stride_h - g.pad_h, left = ox * g.stride_w - g.pad_w;
  const Range rows = inside(top, g.dilation_h, g.kernel_h, g.height);
  const Range columns = inside(left, g.dilation_w, g.kernel_w, g.width);
  for (std::int64_t ky = rows.first; ky < rows.last; ++ky)
    for (std::int64_t kx = columns.first; kx < columns.last; ++kx)
      body(((top + ky * g.dilation_h) * g.width + left + kx * g.dilation_w) * g.channels,
           (ky * g.kernel_w + kx) * g.channels);
}

void forward(const ConvolutionGeometry& g, std::int64_t images, const float* x, const float* w,
             const float* bias, float* y) {
  const std::int64_t out_h = g.out_height(), out_w = g.out_width();
  for (std::int64_t image = 0; image < images; ++image, x += g.height * g.width * g.channels)
    for (std::int64_t oy = 0; oy < out_h; ++oy)
      for (std::int64_t ox = 0; ox < out_w; ++ox, y += g.channels)
        for_each_channel(g.channels, [=, &g](auto lanes, std::int64_t c) {
          using Lanes = decltype(lanes);
          typename Lanes::Values sum = {};
          if (bias) sum = Lanes::read(bias + c);
          for_each_tap(g, oy, ox, [&](std::int64_t in, std::int64_t tap) {
            sum = multiply_add(Lanes::read(x + in + c), Lanes::read(w + tap + c), sum);
          });
          Lanes::write(sum, y + c);
        });
}

void backward_data(const ConvolutionGeometry& g, std::int64_t images, const float* dy, const float* w,
                   float* dx) {
  const std::int64_t out_h = g.out_height(), out_w = g.out_width(), size = g.height * g.width * g.channels;
  for (std::int64_t image = 0; image < images; ++image, dx += size) {
    for_each(size, [=](std::int64_t i) { dx[i] = 0.0f; });
    for (std::int64_t oy = 0; oy < out_h; ++oy)
      for (std::int64_t ox = 0; ox < out_w; ++ox, dy += g.channels)
        for_each_channel(g.channels, [=, &g](auto lanes, std::int64_t c) {
          using Lanes = decltype(lanes);
          const auto gradient = Lanes::read(dy + c);
          for_each_tap(g, oy, ox, [&](std::int64_t in, std::int64_t tap) {
            Lanes::write(multiply_add(gradient, Lanes::read(w + tap + c), Lanes::read(dx + in + c)),
                         dx + in + c);
          });
        });
  }
}

void add_weights(const ConvolutionGeometry& g, std::int64_t images, const float* x, const float* dy,
                 float* dw) {
  const std::int64_t out_h = g.out_height(), out_w = g.out_width();
  for (std::int64_t image = 0; image < images; ++image) {
    for (std::int64_t ky = 0; ky < g.kernel_h; ++ky)
      for (std::int64_t kx = 0; kx < g.kernel_w; ++kx) {
        const std::int64_t top = ky * g.dilation_h - g.pad_h, left = kx * g.dilation_w - g.pad_w;
        const Range rows = inside(top, g.stride_h, out_h, g.height);
        const Range columns = inside(left, g.stride_w, out_w, g.width);
        float* const to = dw + (ky * g.kernel_w + kx) * g.channels;
        for_each_channel(g.channels, [=, &g](auto lanes, std::int64_t c) {
          using Lanes = decltype(lanes);
          typename Lanes::Values sum = {};
          for (std::int64_t oy = rows.first; oy < rows.last; ++oy)
            for (std::int64_t ox = columns.first; ox < columns.last; ++ox) {
              const std::int64_t pixel = (top + oy * g.stride_h) * g.width + left + ox * g.stride_w;
              sum = multiply_add(Lanes::read(x + pixel * g.channels + c),
                                 Lanes::read(dy + (oy * out_w + ox) * g.channels + c), sum);
            }
          Lanes::write(Lanes::read(to + c) + sum, to + c);
        });
      }
    x += g.height * g.width * g.channels;
    dy += out_h * out_w * g.channels;
  }
}

}  // namespace

extern const DepthwiseKernels depthwise_kernels;
const DepthwiseKernels depthwise_kernels = {forward, backward_data, add_weights};

}  // namespace trainer::KERNEL_NAMESPACE
