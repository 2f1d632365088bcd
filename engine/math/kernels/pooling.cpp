// Loops over channels, which lie together, become vectors; windows are clipped to the image beforehand.

#include "engine/math/pooling.h"

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// The rows [first, last) of a window that lie in the image; `start` is where the window begins.
struct Span {
  std::int64_t start, first, last;
};

inline Span clip(std::int64_t start, std::int64_t size, std::int64_t extent) {
  return {start, start < 0 ? -start : 0, start + size > extent ? extent - start : size};
}

/// Calls body(rows, columns, output pixel) for every window of one image.
template <class Body>
inline void for_each_window(const PoolingGeometry& g, Body body) {
  const std::int64_t out_h = g.out_height(), out_w = g.out_width();
  for (std::int64_t oy = 0; oy < out_h; ++oy)
    for (std::int64_t ox = 0; ox < out_w; ++ox)
      body(clip(oy * g.stride_h - g.pad_h, g.size_h, g.height),
           clip(ox * g.stride_w - g.pad_w, g.size_w, g.width), oy * out_w + ox);
}

inline bool whole_2x2(const PoolingGeometry& g, const Span& rows, const Span& columns) {
  return g.size_h == 2 && g.size_w == 2 && rows.first == 0 && rows.last == 2 && columns.first == 0 &&
         columns.last == 2;
}

/// Larger, or the first NaN.
inline bool takes(float candidate, float best) {
  return candidate > best || (candidate != candidate && best == best);
}

void zero(std::int64_t count, float* x) {
  for_each(count, [=](std::int64_t i) { x[i] = 0.0f; });
}

/// One 2x2 window; `row` is how far the image's rows are apart.
inline void max_2x2(std::int64_t channels, std::int64_t row, const float* x, float* y, std::uint8_t* winner) {
  const auto best_of = [=](std::int64_t c, float& best) {
    int where = 0;
    best = x[c];
    const float right = x[channels + c], below = x[row + c], across = x[row + channels + c];
    where = takes(right, best) ? 1 : where;
    best = takes(right, best) ? right : best;
    where = takes(below, best) ? 2 : where;
    best = takes(below, best) ? below : best;
    where = takes(across, best) ? 3 : where;
    best = takes(across, best) ? across : best;
    return where;
  };
  if (winner)
    for_each(channels, [=](std::int64_t c) {
      float best;
      winner[c] = static_cast<std::uint8_t>(best_of(c, best));
      y[c] = best;
    });
  else
    for_each(channels, [=](std::int64_t c) {
      float best;
      best_of(c, best);
      y[c] = best;
    });
}

/// One window of any size, position by position, with the best so far in `y`.
inline void max_window(const PoolingGeometry& g, const Span& rows, const Span& columns, const float* x,
                       float* y, std::uint8_t* winner) {
  bool begun = false;
  for (std::int64_t ky = rows.first; ky < rows.last; ++ky)
    for (std::int64_t kx = columns.first; kx < columns.last; ++kx) {
      const float* from = x + ((rows.start + ky) * g.width + columns.start + kx) * g.channels;
      const auto position = static_cast<std::uint8_t>(ky * g.size_w + kx);
      if (!begun) {
        begun = true;
        for_each(g.channels, [=](std::int64_t c) { y[c] = from[c]; });
        if (winner) for_each(g.channels, [=](std::int64_t c) { winner[c] = position; });
        continue;
      }
      if (winner)
        for_each(g.channels,
                 [=](std::int64_t c) { winner[c] = takes(from[c], y[c]) ? position : winner[c]; });
      for_each(g.channels, [=](std::int64_t c) { y[c] = takes(from[c], y[c]) ? from[c] : y[c]; });
    }
}

void max_pool(const PoolingGeometry& g, std::int64_t images, const float* x, float* y, std::uint8_t* winner) {
  const std::int64_t in_size = g.height * g.width * g.channels;
  const std::int64_t out_size = g.out_height() * g.out_width() * g.channels;
  for (std::int64_t image = 0; image < images; ++image, x += in_size, y += out_size) {
    std::uint8_t* const winners = winner ? winner + image * out_size : nullptr;
    for_each_window(g, [=](const Span& rows, const Span& columns, std::int64_t pixel) {
      float* const to = y + pixel * g.channels;
      std::uint8_t* const won = winners ? winners + pixel * g.channels : nullptr;
      if (whole_2x2(g, rows, columns))
        max_2x2(g.channels, g.width * g.channels, x + (rows.start * g.width + columns.start) * g.channels, to,
                won);
      else
        max_window(g, rows, columns, x, to, won);
    });
  }
}

void max_pool_backward(const PoolingGeometry& g, std::int64_t images, const float* dy,
                       const std::uint8_t* winner, float* dx) {
  const std::int64_t in_size = g.height * g.width * g.channels;
  const std::int64_t out_size = g.out_height() * g.out_width() * g.channels;
  const bool tiles = g.stride_h == 2 && g.stride_w == 2 && g.pad_h == 0 && g.pad_w == 0 &&
                     g.height % 2 == 0 && g.width % 2 == 0;
  for (std::int64_t image = 0; image < images; ++image, dy += out_size, winner += out_size, dx += in_size) {
    const bool written_once = tiles && g.size_h == 2 && g.size_w == 2;
    if (!written_once) zero(in_size, dx);
    for_each_window(g, [=](const Span& rows, const Span& columns, std::int64_t pixel) {
      const float* const from = dy + pixel * g.channels;
      const std::uint8_t* const won = winner + pixel * g.channels;
      if (written_once) {
        float* const above = dx + (rows.start * g.width + columns.start) * g.channels;
        float* const below = above + g.width * g.channels;
        return for_each(g.channels, [=](std::int64_t c) {
          above[c] = won[c] == 0 ? from[c] : 0.0f;
          above[g.channels + c] = won[c] == 1 ? from[c] : 0.0f;
          below[c] = won[c] == 2 ? from[c] : 0.0f;
          below[g.channels + c] = won[c] == 3 ? from[c] : 0.0f;
        });
      }
      for (std::int64_t ky = rows.first; ky < rows.last; ++ky)
        for (std::int64_t kx = columns.first; kx < columns.last; ++kx) {
          float* const to = dx + ((rows.start + ky) * g.width + columns.start + kx) * g.channels;
          const auto position = static_cast<std::uint8_t>(ky * g.size_w + kx);
          for_each(g.channels, [=](std::int64_t c) { to[c] = won[c] == position ? to[c] + from[c] : to[c]; });
        }
    });
  }
}

/// What the sum over a window is divided by.
inline float divisor(const PoolingGeometry& g, const Span& rows, const Span& columns, bool include_padding) {
  return static_cast<float>(include_padding ? g.size_h * g.size_w
                                            : (rows.last - rows.first) * (columns.last - columns.first));
}

void average_pool(const PoolingGeometry& g, std::int64_t images, const float* x, bool include_padding,
                  float* y) {
  const std::int64_t in_size = g.height * g.width * g.channels;
  const std::int64_t out_size = g.out_height() * g.out_width() * g.channels;
  for (std::int64_t image = 0; image < images; ++image, x += in_size, y += out_size) {
    zero(out_size, y);
    for_each_window(g, [=](const Span& rows, const Span& columns, std::int64_t pixel) {
      float* const to = y + pixel * g.channels;
      for (std::int64_t ky = rows.first; ky < rows.last; ++ky)
        for (std::int64_t kx = columns.first; kx < columns.last; ++kx) {
          const float* from = x + ((rows.start + ky) * g.width + columns.start + kx) * g.channels;
          for_each(g.channels, [=](std::int64_t c) { to[c] += from[c]; });
        }
      const float factor = 1.0f / divisor(g, rows, columns, include_padding);
      for_each(g.channels, [=](std::int64_t c) { to[c] *= factor; });
    });
  }
}

void average_pool_backward(const PoolingGeometry& g, std::int64_t images, const float* dy,
                           bool include_padding, float* dx) {
  const std::int64_t in_size = g.height * g.width * g.channels;
  const std::int64_t out_size = g.out_height() * g.out_width() * g.channels;
  for (std::int64_t image = 0; image < images; ++image, dy += out_size, dx += in_size) {
    zero(in_size, dx);
    for_each_window(g, [=](const Span& rows, const Span& columns, std::int64_t pixel) {
      const float* const from = dy + pixel * g.channels;
      const float factor = 1.0f / divisor(g, rows, columns, include_padding);
      for (std::int64_t ky = rows.first; ky < rows.last; ++ky)
        for (std::int64_t kx = columns.first; kx < columns.last; ++kx) {
          float* const to = dx + ((rows.start + ky) * g.width + columns.start + kx) * g.channels;
          for_each(g.channels, [=](std::int64_t c) { to[c] += factor * from[c]; });
        }
    });
  }
}

}  // namespace

extern const PoolingKernels pooling_kernels;
const PoolingKernels pooling_kernels = {max_pool, max_pool_backward, average_pool, average_pool_backward};

}  // namespace trainer::KERNEL_NAMESPACE
