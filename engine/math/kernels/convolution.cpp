// Register tiles of sums: some pixels (or taps) times one or two vectors of filters. Every sum is a single
// chain of multiply-adds over its taps in order, so the size of the tile it lies in does not show in its
// bits.

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"
#include "engine/math/kernels/vector.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

// What fits into the registers beside weights and one input.
constexpr int kMaxVectors = 2;
constexpr int kMaxTile = KERNEL_REGISTERS == 32 ? 24 : KERNEL_LANES == 4 ? 8 : 12;
constexpr int max_pixels(int vectors) { return kMaxTile / vectors < 16 ? kMaxTile / vectors : 16; }

/// Hides where a pointer comes from: else the compiler keeps a pointer per pixel and runs out of registers.
inline void hide(const float*& pointer) { asm("" : "+r"(pointer)); }

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
    for (int v = 0; v < vectors; ++v) sums[v][p] += weights[v] * value;
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
CorrelateTile correlate_tile_of(std::int64_t wanted) {
  if constexpr (pixels == 0)
    return nullptr;
  else
    return wanted == pixels ? correlate_tile<vectors, pixels>
                            : correlate_tile_of<vectors, pixels - 1>(wanted);
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

/// Calls body(vectors, first filter, filters) for each block; `vectors` is a type that holds their number.
template <int value>
struct Number {
  static constexpr int kValue = value;
};

template <class Body>
inline void for_each_filter_block(std::int64_t filters, Body body) {
  for (std::int64_t first = 0; first < filters; first += kMaxVectors * kLanes) {
    const std::int64_t left = filters - first;
    if (left > kLanes)
      body(Number<2>{}, first, left < 2 * kLanes ? left : 2 * kLanes);
    else
      body(Number<1>{}, first, left);
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
    correlate_block<vectors.kValue>(job, x, w + first * taps, bias ? bias + first : nullptr, relu, filters,
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
          if (output >= 0 && output < kOutputs) sums[0][output] += weights[t] * value;
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

/// A row in one tile, or in two halves.
struct NarrowRow {
  CorrelateTile first = nullptr, second = nullptr;
};

/// The rows that have such a kernel: maps of 8 to 32 pixels under the kernels that small networks use.
NarrowRow narrow_row_of(std::int64_t width, std::int64_t taps, std::int64_t border) {
  if (width == 8 && taps == 3 && border == 1) return {narrow_tile<8, 3, 1, 1>};
  if constexpr (KERNEL_REGISTERS == 32) {
    if (width == 16 && taps == 3 && border == 1) return {narrow_tile<16, 3, 1, 1>};
    if (width == 32 && taps == 3 && border == 1) return {narrow_tile<17, 3, 1, 0>, narrow_tile<17, 3, 0, 1>};
    if (width == 8 && taps == 5 && border == 4) return {narrow_tile<8, 5, 4, 4>};
    if (width == 10 && taps == 5 && border == 4) return {narrow_tile<10, 5, 4, 4>};
    if (width == 28 && taps == 5 && border == 0) return {narrow_tile<28, 5, 0, 0>};
    if (width == 32 && taps == 5 && border == 0) return {narrow_tile<18, 5, 0, 0>, narrow_tile<18, 5, 0, 0>};
  }
  return {};
}

bool has_narrow(std::int64_t x_width, std::int64_t tap_columns, std::int64_t border) {
  return narrow_row_of(x_width, tap_columns, border).first != nullptr;
}

void correlate_narrow(const Correlation& job, const float* x, const float* w, const float* bias, bool relu,
                      float* y) {
  const NarrowRow tiles = narrow_row_of(job.x_width, job.tap_columns, job.border);
  const std::int64_t w_row = job.tap_columns * job.run * kLanes;
  const std::int64_t half = job.columns / 2;
  for (std::int64_t first = 0; first < job.filters; first += kLanes) {
    const std::int64_t left = job.filters - first, filters = left < kLanes ? left : kLanes;
    const float* start = bias ? bias + first : nullptr;
    for_each_row(job, x, w + first / kLanes * job.tap_rows * w_row, w_row,
                 [=, &job](std::int64_t row, std::int64_t taps, const float* line, const float* weights) {
                   float* to = y + row * job.y_row + first;
                   tiles.first(job, taps, line, weights, start, relu, filters, to);
                   if (tiles.second)
                     tiles.second(job, taps, line + (half - job.border) * job.x_column, weights, start, relu,
                                  filters, to + half * job.y_column);
                 });
  }
}

/// Sums for `rows` kernel rows of `taps` inputs each, over the output rows in `outputs`. x and dw lie at the
/// first tap.
template <int vectors, int rows, int taps>
void products_tile(const Correlation& job, const ImageBlock& block, Range outputs, const float* x,
                   const float* dy, std::int64_t filters, float* dw, std::int64_t dw_row,
                   std::int64_t dw_tap) {
  const std::int64_t x_step = job.row_step * job.x_row, tap_row = job.tap_row_step * job.x_row;
  Vector sums[rows][taps][vectors] = {};
  for (std::int64_t image = 0; image < block.images; ++image)
    for (std::int64_t oy = outputs.first; oy < outputs.last; ++oy) {
      const float* slope = dy + image * block.dy_image + oy * job.y_row;
      const float* line[rows];
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) line[r] = x + image * block.x_image + oy * x_step + r * tap_row;
      for (std::int64_t ox = 0; ox < job.columns; ++ox) {
        Vector slopes[vectors];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) slopes[v] = load(slope + v * kLanes);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 24
          for (int t = 0; t < taps; ++t)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) sums[r][t][v] += line[r][t] * slopes[v];
          line[r] += job.x_column;
        }
        slope += job.y_column;
      }
    }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 24
    for (int t = 0; t < taps; ++t) {
      float* to = dw + r * dw_row + t * dw_tap;
      if (filters == vectors * kLanes) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) store(load(to + v * kLanes) + sums[r][t][v], to + v * kLanes);
      } else {
        float all[vectors * kLanes];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) store(sums[r][t][v], all + v * kLanes);
        for (std::int64_t i = 0; i < filters; ++i) to[i] += all[i];
      }
    }
}

using ProductsTile = void (*)(const Correlation& job, const ImageBlock& block, Range outputs, const float* x,
                              const float* dy, std::int64_t filters, float* dw, std::int64_t dw_row,
                              std::int64_t dw_tap);

template <int vectors, int rows, int taps>
ProductsTile products_tile_of(std::int64_t wanted) {
  if constexpr (taps == 0)
    return nullptr;
  else
    return wanted == taps ? products_tile<vectors, rows, taps>
                          : products_tile_of<vectors, rows, taps - 1>(wanted);
}

// With few inputs in a row, several kernel rows together keep the processor busy.
constexpr int kMaxShort = 5;

template <int vectors, int rows>
ProductsTile short_tile_of(std::int64_t wanted_rows, std::int64_t taps) {
  if constexpr (rows == 0)
    return nullptr;
  else
    return wanted_rows == rows ? products_tile_of<vectors, rows, kMaxShort>(taps)
                               : short_tile_of<vectors, rows - 1>(wanted_rows, taps);
}

/// The output rows that tap row `ky` serves.
inline Range outputs_of(const Correlation& job, std::int64_t ky) {
  return inside(job.first_row + ky * job.tap_row_step, job.row_step, job.rows, job.x_height);
}

template <int vectors>
void products_block(const Correlation& job, const ImageBlock& block, const float* x, const float* dy,
                    std::int64_t filters, float* dw, std::int64_t dw_tap) {
  constexpr int kMaxTaps = kMaxTile / vectors;
  constexpr int kMaxRows = kMaxTaps >= 24 ? 5 : kMaxTaps >= 10 ? 2 : 1;
  const std::int64_t dw_run = job.run * dw_tap, dw_row = job.tap_columns * dw_run;
  const auto add_rows = [=, &job, &block](std::int64_t rows, std::int64_t ky, std::int64_t kx,
                                          Range outputs) {
    if (outputs.first >= outputs.last) return;
    const float* from = x + (job.first_row + ky * job.tap_row_step) * job.x_row + kx * job.tap_column;
    float* to = dw + ky * dw_row + kx * dw_run;
    if (rows > 1)
      return short_tile_of<vectors, kMaxRows>(rows, job.run)(job, block, outputs, from, dy, filters, to,
                                                             dw_row, dw_tap);
    const std::int64_t tiles = (job.run + kMaxTaps - 1) / kMaxTaps;
    for (std::int64_t tile = 0, tap = 0; tile < tiles; ++tile) {
      const std::int64_t size = job.run / tiles + (tile < job.run % tiles ? 1 : 0);
      products_tile_of<vectors, 1, kMaxTaps>(size)(job, block, outputs, from + tap, dy, filters,
                                                   to + tap * dw_tap, dw_row, dw_tap);
      tap += size;
    }
  };
  const std::int64_t rows_at_once = job.run <= kMaxShort && job.run < kMaxTaps ? kMaxRows : 1;
  for (std::int64_t ky = 0; ky < job.tap_rows; ky += rows_at_once) {
    const std::int64_t rows = job.tap_rows - ky < rows_at_once ? job.tap_rows - ky : rows_at_once;
    // Together over the outputs that all of these rows serve, then one by one over the rest.
    const Range first = outputs_of(job, ky), last = outputs_of(job, ky + rows - 1);
    Range common = {first.first, last.last};
    if (common.first > common.last) common.last = common.first;
    for (std::int64_t kx = 0; kx < job.tap_columns; ++kx) {
      add_rows(rows, ky, kx, common);
      for (std::int64_t r = ky; rows > 1 && r < ky + rows; ++r) {
        const Range own = outputs_of(job, r);
        add_rows(1, r, kx, {own.first, own.last < common.first ? own.last : common.first});
        add_rows(1, r, kx, {own.first > common.last ? own.first : common.last, own.last});
      }
    }
  }
}

/// Sums for one kernel row of `taps` columns and some of its inputs. Each input meets the slopes of all
/// outputs that it belongs to, which move along with it; before the first output and behind the last they are
/// 0.
template <int taps, int inputs>
void sliding_tile(const Correlation& job, const ImageBlock& block, Range outputs, const float* x,
                  const float* dy, std::int64_t filters, float* dw, std::int64_t dw_column,
                  std::int64_t dw_tap) {
  Vector sums[taps][inputs] = {};
  const std::int64_t distance = job.x_column, slope_distance = job.y_column;
  for (std::int64_t image = 0; image < block.images; ++image)
    for (std::int64_t oy = outputs.first; oy < outputs.last; ++oy) {
      const float* slope = dy + image * block.dy_image + oy * job.y_row;
      const float* line = x + image * block.x_image + oy * job.row_step * job.x_row;
      const float* const end = slope + job.columns * slope_distance;
      Vector slopes[taps] = {};
      // Slide the first `border` outputs in, then one more with each input.
      for (std::int64_t i = 0; i < job.border; ++i, slope += slope_distance) {
#pragma GCC unroll 8
        for (int t = taps - 1; t > 0; --t) slopes[t] = slopes[t - 1];
        slopes[1] = load(slope);
      }
      for (std::int64_t i = 0; i < job.x_width; ++i, slope += slope_distance, line += distance) {
        slopes[0] = slope < end ? load(slope) : Vector{};
#pragma GCC unroll 8
        for (int c = 0; c < inputs; ++c)
#pragma GCC unroll 8
          for (int t = 0; t < taps; ++t) sums[t][c] += line[c] * slopes[t];
#pragma GCC unroll 8
        for (int t = taps - 1; t > 0; --t) slopes[t] = slopes[t - 1];
      }
    }
#pragma GCC unroll 8
  for (int t = 0; t < taps; ++t)
#pragma GCC unroll 8
    for (int c = 0; c < inputs; ++c) {
      float* to = dw + t * dw_column + c * dw_tap;
      if (filters == kLanes) {
        store(load(to) + sums[t][c], to);
      } else {
        float all[kLanes];
        store(sums[t][c], all);
        for (std::int64_t f = 0; f < filters; ++f) to[f] += all[f];
      }
    }
}

constexpr int kSlidingInputs = 8;  // times three taps

template <int inputs>
ProductsTile sliding_tile_of(std::int64_t wanted) {
  if constexpr (inputs == 0)
    return nullptr;
  else
    return wanted == inputs ? sliding_tile<3, inputs> : sliding_tile_of<inputs - 1>(wanted);
}

bool has_sliding(std::int64_t columns, std::int64_t tap_columns, std::int64_t border) {
  return KERNEL_REGISTERS == 32 && tap_columns == 3 && border <= 2 && columns >= 2;
}

void add_sliding_products(const Correlation& job, const ImageBlock& block, const float* x, const float* dy,
                          float* dw, std::int64_t dw_tap) {
  const std::int64_t tiles = (job.run + kSlidingInputs - 1) / kSlidingInputs;
  const std::int64_t dw_column = job.run * dw_tap;
  for (std::int64_t first = 0; first < job.filters; first += kLanes) {
    const std::int64_t left = job.filters - first, filters = left < kLanes ? left : kLanes;
    for (std::int64_t ky = 0; ky < job.tap_rows; ++ky) {
      const Range outputs = outputs_of(job, ky);
      const float* line = x + (job.first_row + ky * job.tap_row_step) * job.x_row;
      for (std::int64_t tile = 0, input = 0; tile < tiles; ++tile) {
        const std::int64_t size = job.run / tiles + (tile < job.run % tiles ? 1 : 0);
        sliding_tile_of<kSlidingInputs>(size)(job, block, outputs, line + input, dy + first, filters,
                                              dw + ky * 3 * dw_column + input * dw_tap + first, dw_column,
                                              dw_tap);
        input += size;
      }
    }
  }
}

void add_products(const Correlation& job, const ImageBlock& block, const float* x, const float* dy, float* dw,
                  std::int64_t dw_tap) {
  for_each_filter_block(
      job.filters, [=, &job, &block](auto vectors, std::int64_t first, std::int64_t filters) {
        products_block<vectors.kValue>(job, block, x, dy + first, filters, dw + first, dw_tap);
      });
}

}  // namespace

extern const ConvolutionKernels convolution_kernels;
const ConvolutionKernels convolution_kernels = {kLanes,      kMaxVectors* kLanes, correlate,
                                                has_narrow,  correlate_narrow,    add_products,
                                                has_sliding, add_sliding_products};

}  // namespace trainer::KERNEL_NAMESPACE
