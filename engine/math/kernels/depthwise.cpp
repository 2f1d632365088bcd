// Every channel for itself, four vectors of them at a time. An output is one chain of multiply-adds over its
// taps.

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"
#include "engine/math/kernels/multiply_add.h"
#include "engine/math/kernels/vector.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// Four vectors of channels, whose chains of multiply-adds do not wait for each other.
struct Four {
  static constexpr int kVectors = 4, kChannels = kVectors * kLanes;
  struct Values {
    Vector vectors[kVectors];
  };

  static Values read(const float* from) {
    Values values;
    for (int v = 0; v < kVectors; ++v) values.vectors[v] = load(from + v * kLanes);
    return values;
  }
  static void write(const Values& values, float* to) {
    for (int v = 0; v < kVectors; ++v) store(values.vectors[v], to + v * kLanes);
  }
};

inline Four::Values multiply_add(const Four::Values& a, const Four::Values& b, Four::Values sum) {
  for (int v = 0; v < Four::kVectors; ++v)
    sum.vectors[v] = multiply_add(a.vectors[v], b.vectors[v], sum.vectors[v]);
  return sum;
}

inline Four::Values operator+(Four::Values a, const Four::Values& b) {
  for (int v = 0; v < Four::kVectors; ++v) a.vectors[v] += b.vectors[v];
  return a;
}

/// Calls body(Four, Many or One, first channel) until all channels are done.
template <class Body>
inline void for_each_block(std::int64_t channels, Body body) {
  std::int64_t c = 0;
  for (; c + Four::kChannels <= channels; c += Four::kChannels) body(Four{}, c);
  for_each_channel(channels - c, [&](auto lanes, std::int64_t channel) { body(lanes, c + channel); });
}

/// The taps of one output pixel that lie in the image.
struct Taps {
  std::int64_t top, left;
  Range rows, columns;

  Taps(const ConvolutionGeometry& g, std::int64_t oy, std::int64_t ox)
      : top(oy * g.stride_h - g.pad_h),
        left(ox * g.stride_w - g.pad_w),
        rows(inside(top, g.dilation_h, g.kernel_h, g.height)),
        columns(inside(left, g.dilation_w, g.kernel_w, g.width)) {}

  /// Calls body(first element of x, of w) for each.
  template <class Body>
  [[gnu::always_inline]] void for_each(const ConvolutionGeometry& g, Body body) const {
    const std::int64_t step = g.dilation_w * g.channels;
    for (std::int64_t ky = rows.first; ky < rows.last; ++ky) {
      std::int64_t in =
          ((top + ky * g.dilation_h) * g.width + left + columns.first * g.dilation_w) * g.channels;
      std::int64_t tap = (ky * g.kernel_w + columns.first) * g.channels;
      for (std::int64_t kx = columns.first; kx < columns.last; ++kx, in += step, tap += g.channels)
        body(in, tap);
    }
  }
};

void forward(const ConvolutionGeometry& g, std::int64_t images, const float* x, const float* w,
             const float* bias, float* y) {
  const std::int64_t out_h = g.out_height(), out_w = g.out_width();
  for (std::int64_t image = 0; image < images; ++image, x += g.height * g.width * g.channels)
    for (std::int64_t oy = 0; oy < out_h; ++oy)
      for (std::int64_t ox = 0; ox < out_w; ++ox, y += g.channels) {
        const Taps taps(g, oy, ox);
        for_each_block(g.channels, [=, &g, &taps](auto lanes, std::int64_t c) {
          using Lanes = decltype(lanes);
          typename Lanes::Values sum = {};
          if (bias) sum = Lanes::read(bias + c);
          taps.for_each(g, [&](std::int64_t in, std::int64_t tap) {
            sum = multiply_add(Lanes::read(x + in + c), Lanes::read(w + tap + c), sum);
          });
          Lanes::write(sum, y + c);
        });
      }
}

void backward_data(const ConvolutionGeometry& g, std::int64_t images, const float* dy, const float* w,
                   float* dx) {
  const std::int64_t out_h = g.out_height(), out_w = g.out_width(), size = g.height * g.width * g.channels;
  for (std::int64_t image = 0; image < images; ++image, dx += size) {
    for_each(size, [=](std::int64_t i) { dx[i] = 0.0f; });
    for (std::int64_t oy = 0; oy < out_h; ++oy)
      for (std::int64_t ox = 0; ox < out_w; ++ox, dy += g.channels) {
        const Taps taps(g, oy, ox);
        for_each_block(g.channels, [=, &g, &taps](auto lanes, std::int64_t c) {
          using Lanes = decltype(lanes);
          const auto gradient = Lanes::read(dy + c);
          taps.for_each(g, [&](std::int64_t in, std::int64_t tap) {
            Lanes::write(multiply_add(gradient, Lanes::read(w + tap + c), Lanes::read(dx + in + c)),
                         dx + in + c);
          });
        });
      }
  }
}

/// Some taps of a row at a time, which meet the same rows of x and dy in the L1 cache.
void add_weights(const ConvolutionGeometry& g, std::int64_t images, const float* x, const float* dy,
                 float* dw) {
  constexpr std::int64_t kTaps = 4;
  const std::int64_t out_h = g.out_height(), out_w = g.out_width();
  for (std::int64_t image = 0; image < images; ++image) {
    for (std::int64_t ky = 0; ky < g.kernel_h; ++ky) {
      const std::int64_t top = ky * g.dilation_h - g.pad_h;
      const Range rows = inside(top, g.stride_h, out_h, g.height);
      for (std::int64_t first = 0; first < g.kernel_w; first += kTaps) {
        const std::int64_t taps = least(kTaps, g.kernel_w - first);
        Range columns[kTaps];
        for (std::int64_t tap = 0; tap < taps; ++tap)
          columns[tap] = inside((first + tap) * g.dilation_w - g.pad_w, g.stride_w, out_w, g.width);
        for_each_block(g.channels, [=, &g, &columns](auto lanes, std::int64_t c) {
          using Lanes = decltype(lanes);
          typename Lanes::Values sums[kTaps] = {};
          for (std::int64_t oy = rows.first; oy < rows.last; ++oy)
            for (std::int64_t tap = 0; tap < taps; ++tap) {
              const std::int64_t left = (first + tap) * g.dilation_w - g.pad_w;
              const std::int64_t row = (top + oy * g.stride_h) * g.width + left;
              auto sum = sums[tap];
              for (std::int64_t ox = columns[tap].first; ox < columns[tap].last; ++ox)
                sum = multiply_add(Lanes::read(x + (row + ox * g.stride_w) * g.channels + c),
                                   Lanes::read(dy + (oy * out_w + ox) * g.channels + c), sum);
              sums[tap] = sum;
            }
          for (std::int64_t tap = 0; tap < taps; ++tap) {
            float* const to = dw + (ky * g.kernel_w + first + tap) * g.channels + c;
            Lanes::write(Lanes::read(to) + sums[tap], to);
          }
        });
      }
    }
    x += g.height * g.width * g.channels;
    dy += out_h * out_w * g.channels;
  }
}

}  // namespace

extern const DepthwiseKernels depthwise_kernels;
const DepthwiseKernels depthwise_kernels = {forward, backward_data, add_weights};

}  // namespace trainer::KERNEL_NAMESPACE
