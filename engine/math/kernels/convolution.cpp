// Outputs of convolutions: every sum is a single chain of multiply-adds over its taps in order, so the size
// of the tile it lies in does not show in its bits.

#include "engine/math/kernels/convolution_tiles.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

constexpr int max_pixels(int vectors) { return kMaxTile / vectors < 16 ? kMaxTile / vectors : 16; }

template <int vectors, int pixels>
inline void begin(Vector (&sums)[vectors][pixels], const float* bias) {
#pragma GCC unroll 2
  for (int v = 0; v < vectors; ++v) {
    const Vector start = bias ? load(bias + v * kLanes) : Vector{};
#pragma GCC unroll 24
    for (int p = 0; p < pixels; ++p) sums[v][p] = start;
  }
}

template <int vectors, int pixels>
inline void finish(Vector (&sums)[vectors][pixels], bool relu, std::int64_t filters, float* y,
                   std::int64_t y_column) {
  if (relu) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v)
#pragma GCC unroll 24
      for (int p = 0; p < pixels; ++p) sums[v][p] = sums[v][p] < 0.0f ? Vector{} : sums[v][p];
  }
  if (filters == vectors * kLanes) {
#pragma GCC unroll 24
    for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) store(sums[v][p], y + p * y_column + v * kLanes);
    return;
  }
#pragma GCC unroll 24
  for (int p = 0; p < pixels; ++p) {
    float all[vectors * kLanes];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) store(sums[v][p], all + v * kLanes);
    for (std::int64_t f = 0; f < filters; ++f) y[p * y_column + f] = all[f];
  }
}

constexpr int kPixelsPerBase = 4;  // what one register can address with the distance and three times it

/// Adds one input times its weights to the sums of every pixel.
template <int vectors, int pixels, int bases>
inline void add_tap(Vector (&sums)[vectors][pixels], const float* const (&base)[bases], std::int64_t offset,
                    std::int64_t distance, std::int64_t three, const float* w) {
  Vector weights[vectors];
#pragma GCC unroll 2
  for (int v = 0; v < vectors; ++v) weights[v] = load(w + v * kLanes);
#pragma GCC unroll 24
  for (int p = 0; p < pixels; ++p) {
    const float* from = base[p / kPixelsPerBase] + offset;
    const int place = p % kPixelsPerBase;
    const float value = place == 3 ? from[three] : from[place * distance];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sums[v][p] = multiply_add(weights[v], value, sums[v][p]);
  }
}

template <int vectors, int pixels>
void correlate_tile(const Correlation& job, std::int64_t tap_rows, const float* x, const float* w,
                    const float* bias, bool relu, std::int64_t filters, float* y) {
  constexpr int kBases = (pixels + kPixelsPerBase - 1) / kPixelsPerBase;
  Vector sums[vectors][pixels];
  begin(sums, bias);
  const std::int64_t distance = job.x_column, three = 3 * distance;
  const std::int64_t tap_row = job.tap_row_step * job.x_row;
  for (std::int64_t ky = 0; ky < tap_rows; ++ky)
    for (std::int64_t kx = 0; kx < job.tap_columns; ++kx) {
      const float* base[kBases];
#pragma GCC unroll 8
      for (int b = 0; b < kBases; ++b)
        base[b] = x + ky * tap_row + kx * job.tap_column + b * kPixelsPerBase * distance;
      std::int64_t left = job.run;
      for (; left >= 4; left -= 4) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) add_tap(sums, base, i, distance, three, w + i * vectors * kLanes);
        w += 4 * vectors * kLanes;
#pragma GCC unroll 8
        for (int b = 0; b < kBases; ++b) {
          base[b] += 4;
          hide(base[b]);
        }
      }
      for (; left > 0; --left) {
        add_tap(sums, base, 0, distance, three, w);
        w += vectors * kLanes;
#pragma GCC unroll 8
        for (int b = 0; b < kBases; ++b) {
          ++base[b];
          hide(base[b]);
        }
      }
    }
  finish(sums, relu, filters, y, job.y_column);
}

using CorrelateTile = void (*)(const Correlation& job, std::int64_t tap_rows, const float* x, const float* w,
                               const float* bias, bool relu, std::int64_t filters, float* y);

template <int vectors, int pixels = max_pixels(vectors)>
CorrelateTile correlate_tile_of(std::int64_t required) {
  if constexpr (pixels == 0)
    return nullptr;
  else
    return required == pixels ? correlate_tile<vectors, pixels>
                              : correlate_tile_of<vectors, pixels - 1>(required);
}

/// Calls body(output row, tap rows, x at the first of them, w likewise) for each row of outputs.
template <class Body>
inline void for_each_row(const Correlation& job, const float* x, const float* w, std::int64_t w_row,
                         Body body) {
  for (std::int64_t row = 0; row < job.rows; ++row) {
    const std::int64_t top = job.first_row + row * job.row_step;
    const Range taps = inside(top, job.tap_row_step, job.tap_rows, job.x_height);
    body(row, taps.last - taps.first, x + (top + taps.first * job.tap_row_step) * job.x_row,
         w + taps.first * w_row);
  }
}

template <int vectors>
void correlate_block(const Correlation& job, const float* x, const float* w, const float* bias, bool relu,
                     std::int64_t filters, float* y) {
  // Tiles of nearly equal size: `larger` of them have one pixel more.
  const std::int64_t tiles = (job.columns + max_pixels(vectors) - 1) / max_pixels(vectors);
  const std::int64_t size = job.columns / tiles, larger = job.columns % tiles;
  const CorrelateTile usual = correlate_tile_of<vectors>(size), large = correlate_tile_of<vectors>(size + 1);
  for_each_row(job, x, w, job.tap_columns * job.run * vectors * kLanes,
               [=, &job](std::int64_t row, std::int64_t taps, const float* line, const float* weights) {
                 float* to = y + row * job.y_row;
                 for (std::int64_t tile = 0; tile < tiles; ++tile) {
                   const bool is_larger = tile < larger;
                   (is_larger ? large : usual)(job, taps, line, weights, bias, relu, filters, to);
                   const std::int64_t pixels = size + (is_larger ? 1 : 0);
                   line += pixels * job.x_column;
                   to += pixels * job.y_column;
                 }
               });
}

void correlate(const Correlation& given, const float* x, const float* w, const float* bias, bool relu,
               float* y) {
  Correlation job = given;
  if (job.rows == 0 || job.columns == 0) return;
  // Rows that follow each other without a gap are one long row.
  if (job.tap_rows == 1 && job.first_row == 0 && job.row_step == 1 && job.rows <= job.x_height &&
      job.x_row == job.columns * job.x_column && job.y_row == job.columns * job.y_column) {
    job.columns *= job.rows;
    job.rows = 1;
  }
  const std::int64_t taps = job.tap_rows * job.tap_columns * job.run;
  for_each_filter_block(job.filters, [=, &job](auto vectors, std::int64_t first, std::int64_t filters) {
    correlate_block<vectors>(job, x, w + first * taps, bias ? bias + first : nullptr, relu, filters,
                             y + first);
  });
}

/// Part of a row of outputs for one vector of filters: those that `width` inputs reach, with a border of
/// zeros on the left, the right or both. Each input is read once and goes to every output it belongs to, so
/// that reading does not hold up the sums and no zero is ever multiplied.
template <int width, int taps, int left, int right>
void narrow_tile(const Correlation& job, std::int64_t tap_rows, const float* x, const float* w,
                 const float* bias, bool relu, std::int64_t filters, float* y) {
  constexpr int kOutputs = width + left + right - taps + 1;
  constexpr int kBases = (width + kPixelsPerBase - 1) / kPixelsPerBase;
  Vector sums[1][kOutputs];
  begin(sums, bias);
  const std::int64_t distance = job.x_column, three = 3 * distance, run = job.run;
  for (std::int64_t ky = 0; ky < tap_rows; ++ky, x += job.tap_row_step * job.x_row) {
    const float* base[kBases];
#pragma GCC unroll 8
    for (int b = 0; b < kBases; ++b) base[b] = x + b * kPixelsPerBase * distance;
    for (std::int64_t c = 0; c < run; ++c, w += taps * kLanes) {
      Vector weights[taps];
#pragma GCC unroll 8
      for (int t = 0; t < taps; ++t) weights[t] = load(w + t * kLanes);
#pragma GCC unroll 28
      for (int p = 0; p < width; ++p) {
        const float* from = base[p / kPixelsPerBase];
        const int place = p % kPixelsPerBase;
        const float value = place == 3 ? from[three] : from[place * distance];
#pragma GCC unroll 8
        for (int t = 0; t < taps; ++t) {
          const int output = p + left - t;
          if (output >= 0 && output < kOutputs)
            sums[0][output] = multiply_add(weights[t], value, sums[0][output]);
        }
      }
#pragma GCC unroll 8
      for (int b = 0; b < kBases; ++b) {
        ++base[b];
        hide(base[b]);
      }
    }
  }
  finish(sums, relu, filters, y, job.y_column);
}

/// A row in equal pieces; the first and the last have the border.
struct NarrowRow {
  std::int64_t pieces = 0, outputs = 0;  ///< of a piece
  CorrelateTile first = nullptr, inner = nullptr, last = nullptr;
};

template <int outputs, int pieces, int taps, int border>
NarrowRow narrow_row() {
  constexpr int kInputs = outputs + taps - 1;
  if constexpr (pieces == 1)
    return {1, outputs, narrow_tile<kInputs - 2 * border, taps, border, border>};
  else if constexpr (pieces == 2)
    return {2, outputs, narrow_tile<kInputs - border, taps, border, 0>, nullptr,
            narrow_tile<kInputs - border, taps, 0, border>};
  else
    return {pieces, outputs, narrow_tile<kInputs - border, taps, border, 0>, narrow_tile<kInputs, taps, 0, 0>,
            narrow_tile<kInputs - border, taps, 0, border>};
}

/// The rows that have such a kernel: maps of 8 to 32 pixels under the kernels that small networks use. They
/// are the same for all registers: portable runs need one order of sums.
NarrowRow narrow_row_of(std::int64_t width, std::int64_t taps, std::int64_t border) {
  if (width == 8 && taps == 3 && border == 1) return narrow_row<8, 1, 3, 1>();
  constexpr int kMore = KERNEL_REGISTERS == 32 ? 1 : 2;  // times the pieces
  if (width == 16 && taps == 3 && border == 1) return narrow_row<16 / kMore, kMore, 3, 1>();
  if (width == 32 && taps == 3 && border == 1) return narrow_row<16 / kMore, 2 * kMore, 3, 1>();
  if (width == 8 && taps == 5 && border == 4) return narrow_row<12, 1, 5, 4>();
  if (width == 10 && taps == 5 && border == 4) return narrow_row<14, 1, 5, 4>();
  if (width == 28 && taps == 5 && border == 0)
    return narrow_row < KERNEL_REGISTERS == 32 ? 24 : 8, 2 * kMore - 1, 5, 0 > ();
  if (width == 32 && taps == 5 && border == 0) return narrow_row<14 / kMore, 2 * kMore, 5, 0>();
  return {};
}

bool has_narrow(std::int64_t x_width, std::int64_t tap_columns, std::int64_t border, bool portable) {
  const NarrowRow row = narrow_row_of(x_width, tap_columns, border);
  // A row of few sums waits for those of pairs, which take longer than those of floats.
  if (kPairsOfValues && row.pieces * row.outputs < 12) return false;
  // With 16 registers rows in pieces, and long ones, pay only with AVX2, and where a border is left out.
  const bool is_short = row.pieces == 1 && row.outputs <= 8;
  const bool pays = KERNEL_REGISTERS == 32 || is_short || (kLanes == 8 && border > 0);
  return row.pieces > 0 && (pays || portable);
}

void correlate_narrow(const Correlation& job, const float* x, const float* w, const float* bias, bool relu,
                      float* y) {
  const NarrowRow tiles = narrow_row_of(job.x_width, job.tap_columns, job.border);
  const std::int64_t w_row = job.tap_columns * job.run * kLanes;
  for (std::int64_t first = 0; first < job.filters; first += kLanes) {
    const std::int64_t left = job.filters - first, filters = left < kLanes ? left : kLanes;
    const float* start = bias ? bias + first : nullptr;
    for_each_row(job, x, w + first / kLanes * job.tap_rows * w_row, w_row,
                 [=, &job](std::int64_t row, std::int64_t taps, const float* line, const float* weights) {
                   float* const to = y + row * job.y_row + first;
                   tiles.first(job, taps, line, weights, start, relu, filters, to);
                   for (std::int64_t piece = 1; piece < tiles.pieces; ++piece) {
                     const std::int64_t output = piece * tiles.outputs;
                     const CorrelateTile tile = piece + 1 < tiles.pieces ? tiles.inner : tiles.last;
                     tile(job, taps, line + (output - job.border) * job.x_column, weights, start, relu,
                          filters, to + output * job.y_column);
                   }
                 });
  }
}

}  // namespace

extern const ConvolutionKernels convolution_kernels;
const ConvolutionKernels convolution_kernels = {kLanes,      kMaxVectors* kLanes, correlate,
                                                has_narrow,  correlate_narrow,    add_products,
                                                has_sliding, add_sliding_products};

}  // namespace trainer::KERNEL_NAMESPACE
