#pragma once

#include <cstdint>

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/multiply_add.h"
#include "engine/math/kernels/packing.h"
#include "engine/math/kernels/packing_ahead.h"
#include "engine/math/kernels/vector.h"

// Register tiles of C: a few rows times up to three vectors of columns.

namespace trainer::KERNEL_NAMESPACE {
namespace {

constexpr int kVectors = 3;                            // of columns in a tile
constexpr int kRows = KERNEL_REGISTERS == 32 ? 8 : 4;  // of a tile

constexpr std::int64_t kTileFloats = 8 * kVectors * kLanes;  // of the largest tile

/// Where a part of C begins.
struct Place {
  float* c;
  std::int64_t ldc;
  float beta;
  bool far;      ///< it comes from afar, so a tile that prepares fetches the one below
  int adds = 0;  ///< sums to add to what the chains end with: C, and others behind it
};

inline Place below(const Place& place, std::int64_t rows) {
  return {place.c + rows * place.ldc, place.ldc, place.beta, place.far};
}

/// Some columns of B: packed, or where they lie.
struct Columns {
  const float* data;
  std::int64_t step, count;
};

/// Some rows of A over some of k, of which the first may be packed by tiles: [tiled / kRows][k][kRows].
struct Rows {
  Operand as_is;
  const float* tiles = nullptr;
  std::int64_t tiled = 0, k = 0;

  Operand at(std::int64_t row) const {
    return row < tiled ? Operand{tiles + row * k, 1, kRows} : part(as_is, row, 0);
  }
  Rows from(std::int64_t first) const {
    return {part(as_is, 0, first), tiled > 0 ? tiles + first * kRows : nullptr, tiled, k};
  }
};

constexpr int kRowsPerBase = 4;  // what one register can address with the distance and three times it

template <int vectors, int rows, bool prepares = false>
void multiply_tile(std::int64_t depth, const Operand& a, const Columns& b, const Place& place,
                   Packing* next = nullptr) {
  const bool whole = b.count == vectors * kLanes;
  Vector sums[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) {
      const float* const c = place.c + r * place.ldc + v * kLanes;
      if (place.beta == 0.0f)
        sums[r][v] = Vector{};
      else
        sums[r][v] = (whole ? load(c) : load_first(c, b.count - v * kLanes)) * place.beta;
    }

  constexpr int kBases = (rows + kRowsPerBase - 1) / kRowsPerBase;
  const std::int64_t distance = a.step, three = 3 * distance;
  const float* base[kBases];
#pragma GCC unroll 2
  for (int i = 0; i < kBases; ++i) base[i] = a.data + i * kRowsPerBase * distance;
  const float* row_of_b = b.data;
  const auto multiply_next = [&](std::int64_t count) __attribute__((always_inline)) {
    for (std::int64_t k = 0; k < count; ++k, row_of_b += b.step) {
      Vector weights[vectors];
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v) weights[v] = load(row_of_b + v * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const float* const from = base[r / kRowsPerBase];
        const int row = r % kRowsPerBase;
        const float value = row == 3 ? from[three] : from[row * distance];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) sums[r][v] = multiply_add(weights[v], value, sums[r][v]);
      }
#pragma GCC unroll 2
      for (int i = 0; i < kBases; ++i) {
        base[i] += a.k_step;
        hide(base[i]);
      }
    }
  };
  std::int64_t first = 0;
  if constexpr (prepares)
    for (; first + Packing::kStride < depth; first += Packing::kStride) {
      next->prepare();
      if (const std::int64_t r = first / Packing::kStride; place.far && r < rows)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) fetch_line<true, 2>(place.c, (rows + r) * place.ldc + v * kLanes);
      multiply_next(Packing::kStride);
    }
  multiply_next(depth - first);

  for (int sum = place.adds - 1; sum >= 0; --sum)
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v)
        sums[r][v] = load(place.c + sum * kTileFloats + r * place.ldc + v * kLanes) + sums[r][v];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) {
      float* const c = place.c + r * place.ldc + v * kLanes;
      if (whole)
        store(sums[r][v], c);
      else
        store_first(sums[r][v], b.count - v * kLanes, c);
    }
}

/// A tile has at least eight sums, as many additions as are under way at once.
constexpr std::int64_t tile_rows(std::int64_t vectors) { return vectors == 1 ? 8 : kRows; }

using Tile = void (*)(std::int64_t depth, const Operand& a, const Columns& b, const Place& place,
                      Packing* next);

template <int vectors, int rows = static_cast<int>(tile_rows(vectors))>
Tile tile_of(std::int64_t required) {
  if constexpr (rows == 0)
    return nullptr;
  else
    return required == rows ? multiply_tile<vectors, rows> : tile_of<vectors, rows - 1>(required);
}

/// All rows times one panel of columns.
template <int vectors>
void multiply_panel(std::int64_t rows, std::int64_t depth, const Rows& a, const Columns& b,
                    const Place& place, Packing& next) {
  constexpr auto kAtOnce = static_cast<int>(tile_rows(vectors));
  std::int64_t row = 0;
  if (!next.empty() || next.fetches_lines())
    for (; row + kAtOnce <= rows; row += kAtOnce) {
      if (next.fetches_lines()) next.fetch_lines(a.as_is.data, row + kLine, a.as_is.k_step);
      multiply_tile<vectors, kAtOnce, true>(depth, a.at(row), b, below(place, row), &next);
    }
  for (; row + kAtOnce <= rows; row += kAtOnce)
    multiply_tile<vectors, kAtOnce>(depth, a.at(row), b, below(place, row));
  if (row < rows) tile_of<vectors>(rows - row)(depth, a.at(row), b, below(place, row), nullptr);
}

using MultiplyPanel = void (*)(std::int64_t rows, std::int64_t depth, const Rows& a, const Columns& b,
                               const Place& place, Packing& next);

inline MultiplyPanel panel_of(std::int64_t vectors) {
  return vectors == 3 ? multiply_panel<3> : vectors == 2 ? multiply_panel<2> : multiply_panel<1>;
}

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
