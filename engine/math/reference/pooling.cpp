#include "engine/math/pooling.h"

#include <algorithm>
#include <cmath>

namespace trainer::reference {
namespace {

/// Calls body(input index, output index, position in the window) for every pair that lies in the image,
/// outputs in order and positions in order within each.
template <class Body>
void for_each_pair(const PoolingGeometry& g, std::int64_t images, Body body) {
  const std::int64_t out_h = g.out_height(), out_w = g.out_width();
  for (std::int64_t image = 0; image < images; ++image)
    for (std::int64_t oy = 0; oy < out_h; ++oy)
      for (std::int64_t ox = 0; ox < out_w; ++ox)
        for (std::int64_t c = 0; c < g.channels; ++c)
          for (std::int64_t ky = 0; ky < g.size_h; ++ky)
            for (std::int64_t kx = 0; kx < g.size_w; ++kx) {
              const std::int64_t iy = oy * g.stride_h - g.pad_h + ky, ix = ox * g.stride_w - g.pad_w + kx;
              if (iy < 0 || iy >= g.height || ix < 0 || ix >= g.width) continue;
              body(((image * g.height + iy) * g.width + ix) * g.channels + c,
                   ((image * out_h + oy) * out_w + ox) * g.channels + c, ky * g.size_w + kx);
            }
}

/// How many positions each output averages over, for one image.
std::int64_t positions(const PoolingGeometry& g, std::int64_t out, bool include_padding) {
  if (include_padding) return g.size_h * g.size_w;
  const std::int64_t pixel = out / g.channels % (g.out_height() * g.out_width());
  const std::int64_t top = pixel / g.out_width() * g.stride_h - g.pad_h;
  const std::int64_t left = pixel % g.out_width() * g.stride_w - g.pad_w;
  return (std::min(top + g.size_h, g.height) - std::max<std::int64_t>(top, 0)) *
         (std::min(left + g.size_w, g.width) - std::max<std::int64_t>(left, 0));
}

}  // namespace

void max_pool(const PoolingGeometry& g, std::int64_t images, const float* x, float* y, std::uint8_t* winner,
              bool after_relu) {
  std::int64_t last = -1;
  for_each_pair(g, images, [&](std::int64_t in, std::int64_t out, std::int64_t position) {
    const bool first = out != last;
    last = out;
    if (!first && !(x[in] > y[out] || (std::isnan(x[in]) && !std::isnan(y[out])))) return;
    y[out] = x[in];
    if (winner) winner[out] = after_relu && y[out] <= 0 ? kNoWinner : static_cast<std::uint8_t>(position);
  });
}

void max_pool_backward(const PoolingGeometry& g, std::int64_t images, const float* dy,
                       const std::uint8_t* winner, float* dx) {
  std::fill_n(dx, images * g.height * g.width * g.channels, 0.0f);
  for_each_pair(g, images, [&](std::int64_t in, std::int64_t out, std::int64_t position) {
    if (winner[out] == position) dx[in] += dy[out];
  });
}

void average_pool(const PoolingGeometry& g, std::int64_t images, const float* x, bool include_padding,
                  float* y) {
  std::fill_n(y, images * g.out_height() * g.out_width() * g.channels, 0.0f);
  for_each_pair(g, images, [&](std::int64_t in, std::int64_t out, std::int64_t) {
    y[out] += x[in] / static_cast<float>(positions(g, out, include_padding));
  });
}

void average_pool_backward(const PoolingGeometry& g, std::int64_t images, const float* dy,
                           bool include_padding, float* dx) {
  std::fill_n(dx, images * g.height * g.width * g.channels, 0.0f);
  for_each_pair(g, images, [&](std::int64_t in, std::int64_t out, std::int64_t) {
    dx[in] += dy[out] / static_cast<float>(positions(g, out, include_padding));
  });
}

}  // namespace trainer::reference
