// Register tiles of sums: some pixels (or taps) times one or two vectors of filters. Every sum is a single
// chain of multiply-adds over its taps in order, so the size of the tile it lies in does not show in its
// bits.

#include "engine/math/kernels/kernels.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

constexpr int kLanes = KERNEL_LANES;
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
typedef float LooseVector __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

// What fits into the registers beside weights and one input.
constexpr int kMaxVectors = 2;
constexpr int kMaxTile = KERNEL_REGISTERS == 32 ? 24 : KERNEL_LANES == 4 ? 8 : 12;
constexpr int max_pixels(int vectors) { return kMaxTile / vectors < 16 ? kMaxTile / vectors : 16; }

inline Vector load(const float* from) { return *reinterpret_cast<const LooseVector*>(from); }
inline void store(const Vector& vector, float* to) { *reinterpret_cast<LooseVector*>(to) = vector; }

/// Copies the first `count` floats of the vectors.
template <int vectors>
inline void store_part(const Vector (&sums)[vectors], std::int64_t count, float* to) {
  float all[vectors * kLanes];
  for (int v = 0; v < vectors; ++v) store(sums[v], all + v * kLanes);
  for (std::int64_t i = 0; i < count; ++i) to[i] = all[i];
}

/// Hides where a pointer comes from: else the compiler keeps a pointer per pixel and runs out of registers.
inline void hide(const float*& pointer) { asm("" : "+r"(pointer)); }

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
void correlate_tile(const Correlation& job, const float* x, const float* w, const float* bias, bool relu,
                    std::int64_t filters, float* y) {
  constexpr int kBases = (pixels + kPixelsPerBase - 1) / kPixelsPerBase;
  Vector sums[vectors][pixels];
#pragma GCC unroll 2
  for (int v = 0; v < vectors; ++v) {
    const Vector start = bias ? load(bias + v * kLanes) : Vector{};
#pragma GCC unroll 24
    for (int p = 0; p < pixels; ++p) sums[v][p] = start;
  }
  const std::int64_t distance = job.x_column, three = 3 * distance;
  for (std::int64_t ky = 0; ky < job.tap_rows; ++ky)
    for (std::int64_t kx = 0; kx < job.tap_columns; ++kx) {
      const float* base[kBases];
#pragma GCC unroll 8
      for (int b = 0; b < kBases; ++b)
        base[b] = x + ky * job.tap_row + kx * job.tap_column + b * kPixelsPerBase * distance;
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
      for (int v = 0; v < vectors; ++v) store(sums[v][p], y + p * job.y_column + v * kLanes);
    return;
  }
#pragma GCC unroll 24
  for (int p = 0; p < pixels; ++p) {
    Vector pixel[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) pixel[v] = sums[v][p];
    store_part(pixel, filters, y + p * job.y_column);
  }
}

using CorrelateTile = void (*)(const Correlation& job, const float* x, const float* w, const float* bias,
                               bool relu, std::int64_t filters, float* y);

template <int vectors, int pixels = max_pixels(vectors)>
CorrelateTile correlate_tile_of(std::int64_t wanted) {
  if constexpr (pixels == 0)
    return nullptr;
  else
    return wanted == pixels ? correlate_tile<vectors, pixels>
                            : correlate_tile_of<vectors, pixels - 1>(wanted);
}

template <int vectors>
void correlate_block(const Correlation& job, const float* x, const float* w, const float* bias, bool relu,
                     std::int64_t filters, float* y) {
  // Tiles of nearly equal size: `larger` of them have one pixel more.
  const std::int64_t tiles = (job.columns + max_pixels(vectors) - 1) / max_pixels(vectors);
  const std::int64_t size = job.columns / tiles, larger = job.columns % tiles;
  const CorrelateTile usual = correlate_tile_of<vectors>(size), large = correlate_tile_of<vectors>(size + 1);
  for (std::int64_t row = 0; row < job.rows; ++row) {
    std::int64_t column = 0;
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      (tile < larger ? large : usual)(job, x + row * job.x_row + column * job.x_column, w, bias, relu,
                                      filters, y + row * job.y_row + column * job.y_column);
      column += size + (tile < larger ? 1 : 0);
    }
  }
}

void correlate(const Correlation& given, const float* x, const float* w, const float* bias, bool relu,
               float* y) {
  Correlation job = given;
  if (job.rows == 0 || job.columns == 0) return;
  // Rows that follow each other without a gap are one long row.
  if (job.x_row == job.columns * job.x_column && job.y_row == job.columns * job.y_column) {
    job.columns *= job.rows;
    job.rows = 1;
  }
  const std::int64_t taps = job.tap_rows * job.tap_columns * job.run;
  for (std::int64_t first = 0; first < job.filters; first += kMaxVectors * kLanes) {
    const std::int64_t left = job.filters - first;
    const float* block = w + first * taps;
    const float* start = bias ? bias + first : nullptr;
    if (left > kLanes)
      correlate_block<2>(job, x, block, start, relu, left < 2 * kLanes ? left : 2 * kLanes, y + first);
    else
      correlate_block<1>(job, x, block, start, relu, left, y + first);
  }
}

/// Sums for `rows` kernel rows of `taps` inputs each.
template <int vectors, int rows, int taps>
void products_tile(const Correlation& job, const ImageBlock& block, const float* x, const float* dy,
                   std::int64_t filters, float* dw, std::int64_t dw_row, std::int64_t dw_tap) {
  Vector sums[rows][taps][vectors] = {};
  for (std::int64_t image = 0; image < block.images; ++image)
    for (std::int64_t oy = 0; oy < job.rows; ++oy) {
      const float* slope = dy + image * block.dy_image + oy * job.y_row;
      const float* line[rows];
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) line[r] = x + image * block.x_image + oy * job.x_row + r * job.tap_row;
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

using ProductsTile = void (*)(const Correlation& job, const ImageBlock& block, const float* x,
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

template <int vectors>
void products_block(const Correlation& job, const ImageBlock& block, const float* x, const float* dy,
                    std::int64_t filters, float* dw, std::int64_t dw_tap) {
  constexpr int kMaxTaps = kMaxTile / vectors;
  constexpr int kMaxRows = kMaxTile / vectors >= 24 ? 5 : kMaxTile / vectors >= 10 ? 2 : 1;
  const std::int64_t run = job.run, dw_run = run * dw_tap, dw_row = job.tap_columns * dw_run;
  const std::int64_t rows_at_once = run <= kMaxShort && run < kMaxTaps ? kMaxRows : 1;
  for (std::int64_t ky = 0; ky < job.tap_rows; ky += rows_at_once)
    for (std::int64_t kx = 0; kx < job.tap_columns; ++kx) {
      const float* from = x + ky * job.tap_row + kx * job.tap_column;
      float* to = dw + ky * dw_row + kx * dw_run;
      if (rows_at_once > 1) {
        const std::int64_t rows = job.tap_rows - ky < rows_at_once ? job.tap_rows - ky : rows_at_once;
        short_tile_of<vectors, kMaxRows>(rows, run)(job, block, from, dy, filters, to, dw_row, dw_tap);
        continue;
      }
      const std::int64_t tiles = (run + kMaxTaps - 1) / kMaxTaps;
      for (std::int64_t tile = 0, tap = 0; tile < tiles; ++tile) {
        const std::int64_t size = run / tiles + (tile < run % tiles ? 1 : 0);
        products_tile_of<vectors, 1, kMaxTaps>(size)(job, block, from + tap, dy, filters, to + tap * dw_tap,
                                                     dw_row, dw_tap);
        tap += size;
      }
    }
}

void add_products(const Correlation& job, const ImageBlock& block, const float* x, const float* dy, float* dw,
                  std::int64_t dw_tap) {
  for (std::int64_t first = 0; first < job.filters; first += kMaxVectors * kLanes) {
    const std::int64_t left = job.filters - first;
    if (left > kLanes)
      products_block<2>(job, block, x, dy + first, left < 2 * kLanes ? left : 2 * kLanes, dw + first, dw_tap);
    else
      products_block<1>(job, block, x, dy + first, left, dw + first, dw_tap);
  }
}

}  // namespace

extern const ConvolutionKernels convolution_kernels;
const ConvolutionKernels convolution_kernels = {kLanes, kMaxVectors* kLanes, correlate, add_products};

}  // namespace trainer::KERNEL_NAMESPACE
