// Channels lie together, so each window is worked on a vector of channels at a time, and the last channels
// one by one: the functions below are written once for both. Windows are clipped to the image beforehand.

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"
#include "engine/math/kernels/vector.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// The part [first, last) of a window's extent that lies in the image, counted from the window's `start`.
struct Span {
  std::int64_t start, first, last;
};

inline Span clip(std::int64_t start, std::int64_t size, std::int64_t extent) {
  return {start, start < 0 ? -start : 0, start + size > extent ? extent - start : size};
}

/// What a window covers of an image. Distances are in floats.
struct Window {
  Span rows, columns;
  std::int64_t corner;  ///< of the window; may lie outside of the image
  std::int64_t row;     ///< from row to row
  std::int64_t width;   ///< of the unclipped window
  std::int64_t channels;

  std::int64_t at(std::int64_t ky, std::int64_t kx) const { return corner + ky * row + kx * channels; }
};

/// Calls body(window, first element of the output pixel) for every window of one image.
template <class Body>
inline void for_each_window(const PoolingGeometry& g, Body body) {
  const std::int64_t out_h = g.out_height(), out_w = g.out_width(), row = g.width * g.channels;
  std::int64_t out = 0;
  for (std::int64_t oy = 0; oy < out_h; ++oy)
    for (std::int64_t ox = 0; ox < out_w; ++ox, out += g.channels) {
      const Span rows = clip(oy * g.stride_h - g.pad_h, g.size_h, g.height);
      const Span columns = clip(ox * g.stride_w - g.pad_w, g.size_w, g.width);
      const std::int64_t corner = rows.start * row + columns.start * g.channels;
      if (g.size_h == 2 && g.size_w == 2 && rows.first == 0 && rows.last == 2 && columns.first == 0 &&
          columns.last == 2)
        // The usual case, with extents that the compiler knows.
        body(Window{{rows.start, 0, 2}, {columns.start, 0, 2}, corner, row, 2, g.channels}, out);
      else
        body(Window{rows, columns, corner, row, g.size_w, g.channels}, out);
    }
}

/// Calls body(index in x, position) for every position of a window.
template <class Body>
inline void for_each_position(const Window& window, Body body) {
  for (std::int64_t ky = window.rows.first; ky < window.rows.last; ++ky)
    for (std::int64_t kx = window.columns.first; kx < window.columns.last; ++kx)
      body(window.at(ky, kx), static_cast<std::int32_t>(ky * window.width + kx));
}

// Windows go back and forth between rows, which processors do not foresee: each line of the larger map is
// fetched this many floats before its turn.
constexpr std::int64_t kAhead = 3072;

template <bool writes>
[[gnu::always_inline]] inline void fetch_ahead(const float* x, std::int64_t channel) {
  if (channel % kLine == 0) fetch_line<writes, 3>(x, kAhead);
}

void zero(std::int64_t count, float* x) {
  for_each(count, [=](std::int64_t i) { x[i] = 0.0f; });
}

/// How far images are apart in x and in y.
std::int64_t in_size(const PoolingGeometry& g) { return g.height * g.width * g.channels; }
std::int64_t out_size(const PoolingGeometry& g) { return g.out_height() * g.out_width() * g.channels; }

void max_pool(const PoolingGeometry& g, std::int64_t images, const float* x, float* y, std::uint8_t* winner,
              bool after_relu) {
  const std::int64_t in = in_size(g), out = out_size(g);
  for (std::int64_t image = 0; image < images; ++image, x += in, y += out) {
    std::uint8_t* const winners = winner ? winner + image * out : nullptr;
    for_each_window(g, [=](const Window& window, std::int64_t pixel) {
      for_each_channel(window.channels, [=](auto lanes, std::int64_t c) {
        using Lanes = decltype(lanes);
        auto best = Lanes::read(x + window.at(window.rows.first, window.columns.first) + c);
        typename Lanes::Positions where = {};
        where += static_cast<std::int32_t>(window.rows.first * window.width + window.columns.first);
        for_each_position(window, [&](std::int64_t from, std::int32_t position) {
          fetch_ahead<false>(x + from + c, c);
          const auto candidate = Lanes::read(x + from + c);
          // Larger, or the first NaN, the only value that differs from itself.
          // NOLINTNEXTLINE(misc-redundant-expression)
          const auto takes = (!(candidate <= best)) & (best == best);
          where = takes ? typename Lanes::Positions{} + position : where;
          best = takes ? candidate : best;
        });
        Lanes::write(best, y + pixel + c);
        if (after_relu) where = best <= 0.0f ? typename Lanes::Positions{} + std::int32_t{kNoWinner} : where;
        if (winners) Lanes::write(where, winners + pixel + c);
      });
    });
  }
}

/// `covers`: windows cover the image without overlap, so they write each element once.
template <bool covers>
void scatter_to_winners(const PoolingGeometry& g, const float* dy, const std::uint8_t* winner, float* dx) {
  for_each_window(g, [=](const Window& window, std::int64_t pixel) {
    for_each_channel(window.channels, [=](auto lanes, std::int64_t c) {
      using Lanes = decltype(lanes);
      const auto gradient = Lanes::read(dy + pixel + c);
      const auto where = Lanes::read(winner + pixel + c);
      for_each_position(window, [=](std::int64_t to, std::int32_t position) {
        if (covers) fetch_ahead<true>(dx + to + c, c);
        const typename Lanes::Values part = where == position ? gradient : typename Lanes::Values{};
        Lanes::write(covers ? part : Lanes::read(dx + to + c) + part, dx + to + c);
      });
    });
  });
}

void max_pool_backward(const PoolingGeometry& g, std::int64_t images, const float* dy,
                       const std::uint8_t* winner, float* dx) {
  const std::int64_t in = in_size(g), out = out_size(g);
  const bool covers = g.stride_h == g.size_h && g.stride_w == g.size_w && g.pad_h == 0 && g.pad_w == 0 &&
                      g.height % g.size_h == 0 && g.width % g.size_w == 0;
  for (std::int64_t image = 0; image < images; ++image, dy += out, winner += out, dx += in) {
    if (covers) {
      scatter_to_winners<true>(g, dy, winner, dx);
    } else {
      zero(in, dx);
      scatter_to_winners<false>(g, dy, winner, dx);
    }
  }
}

/// What the sum over a window is multiplied with.
inline float share(const PoolingGeometry& g, const Window& window, bool include_padding) {
  const std::int64_t inside =
      (window.rows.last - window.rows.first) * (window.columns.last - window.columns.first);
  return 1.0f / static_cast<float>(include_padding ? g.size_h * g.size_w : inside);
}

void average_pool(const PoolingGeometry& g, std::int64_t images, const float* x, bool include_padding,
                  float* y) {
  const std::int64_t in = in_size(g), out = out_size(g);
  for (std::int64_t image = 0; image < images; ++image, x += in, y += out)
    for_each_window(g, [=, &g](const Window& window, std::int64_t pixel) {
      const float factor = share(g, window, include_padding);
      for_each_channel(window.channels, [=](auto lanes, std::int64_t c) {
        using Lanes = decltype(lanes);
        typename Lanes::Values sum = {};
        for_each_position(window, [&](std::int64_t from, std::int32_t) { sum += Lanes::read(x + from + c); });
        Lanes::write(sum * factor, y + pixel + c);
      });
    });
}

void average_pool_backward(const PoolingGeometry& g, std::int64_t images, const float* dy,
                           bool include_padding, float* dx) {
  const std::int64_t in = in_size(g), out = out_size(g);
  for (std::int64_t image = 0; image < images; ++image, dy += out, dx += in) {
    zero(in, dx);
    for_each_window(g, [=, &g](const Window& window, std::int64_t pixel) {
      const float factor = share(g, window, include_padding);
      for_each_channel(window.channels, [=](auto lanes, std::int64_t c) {
        using Lanes = decltype(lanes);
        const auto part = Lanes::read(dy + pixel + c) * factor;
        for_each_position(window, [=](std::int64_t to, std::int32_t) {
          Lanes::write(Lanes::read(dx + to + c) + part, dx + to + c);
        });
      });
    });
  }
}

}  // namespace

extern const PoolingKernels pooling_kernels;
const PoolingKernels pooling_kernels = {max_pool, max_pool_backward, average_pool, average_pool_backward};

}  // namespace trainer::KERNEL_NAMESPACE
