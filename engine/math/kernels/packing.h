#pragma once

#include <cstdint>

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/vector.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

// Permutations are written as lists of lanes, from which the compiler picks instructions.
template <int... lane>
struct Lanes {};
template <int count, int... lane>
struct Count : Count<count - 1, count - 1, lane...> {};
template <int... lane>
struct Count<0, lane...> {
  using Type = Lanes<lane...>;
};
using AllLanes = Count<kLanes>::Type;

constexpr int kFours = kLanes / 4;  // groups of four lanes, within which permutations are cheap

/// The first `count` lanes and zeros; the compiler makes a masked load of it.
inline Vector load_first(const float* from, std::int64_t count) {
  float all[kLanes];
#pragma GCC unroll 1
  for (int i = 0; i < kLanes; ++i) all[i] = i < static_cast<int>(count) ? from[i] : 0.0f;
  return load(all);
}

/// The first `count` lanes, none if it is negative.
inline void store_first(const Vector& vector, std::int64_t count, float* to) {
  float all[kLanes];
  store(vector, all);
  if constexpr (kLanes == 16) {
    // The compiler makes a masked store of it.
#pragma GCC ivdep
#pragma GCC unroll 1
    for (int i = 0; i < kLanes; ++i)
      if (i < static_cast<int>(count)) to[i] = all[i];
  } else if (count >= kLanes) {
    store(vector, to);
  } else if (count > 0) {
    const float* from = all;
#pragma GCC unroll 3
    for (int run = kLanes / 2; run > 0; run /= 2)
      if (count & run) {
        __builtin_memcpy(to, from, static_cast<std::size_t>(run) * sizeof(float));
        from += run;
        to += run;
      }
  }
}

/// Within each four lanes, runs of a and b by turns, from their lower or upper halves.
template <int run, int half, int... lane>
inline Vector interleave(const Vector& a, const Vector& b, Lanes<lane...>) {
  return __builtin_shufflevector(
      a, b, (lane / 4 * 4 + half * 2 + lane % 4 / (2 * run) * run + lane % run + lane / run % 2 * kLanes)...);
}

/// Every second four lanes of a, then of b.
template <int first, int... lane>
inline Vector every_second_four(const Vector& a, const Vector& b, Lanes<lane...>) {
  return __builtin_shufflevector(a, b, ((lane / 4 * 2 + first) * 4 + lane % 4)...);
}

/// Writes a square of elements so that rows become columns. It needs all registers, hence is not inlined.
[[gnu::noinline]] inline void transpose(const float* from, std::int64_t step, float* to,
                                        std::int64_t to_step) {
  constexpr AllLanes lanes;
  Vector columns[4][kFours];  // [i][g]: columns i, i + 4, ... of rows 4 g to 4 g + 3
#pragma GCC unroll 4
  for (int g = 0; g < kFours; ++g) {
    Vector rows[4], pairs[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) rows[i] = load(from + (4 * g + i) * step);
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      pairs[i] = interleave<1, 0>(rows[2 * i], rows[2 * i + 1], lanes);
      pairs[2 + i] = interleave<1, 1>(rows[2 * i], rows[2 * i + 1], lanes);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      columns[2 * i][g] = interleave<2, 0>(pairs[2 * i], pairs[2 * i + 1], lanes);
      columns[2 * i + 1][g] = interleave<2, 1>(pairs[2 * i], pairs[2 * i + 1], lanes);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    // Each round gathers fours of one column from twice as many rows.
#pragma GCC unroll 2
    for (int rounds = 1; rounds < kFours; rounds *= 2) {
      Vector even[kFours], odd[kFours];
#pragma GCC unroll 2
      for (int g = 0; g < kFours / 2; ++g) {
        even[g] = every_second_four<0>(columns[i][2 * g], columns[i][2 * g + 1], lanes);
        odd[g] = every_second_four<1>(columns[i][2 * g], columns[i][2 * g + 1], lanes);
      }
#pragma GCC unroll 2
      for (int g = 0; g < kFours / 2; ++g) {
        columns[i][g] = even[g];
        columns[i][kFours / 2 + g] = odd[g];
      }
    }
  }
#pragma GCC unroll 4
  for (int g = 0; g < kFours; ++g)
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) store(columns[i][g], to + (4 * g + i) * to_step);
}

/// Writes rows of `length` elements as columns.
inline void transpose_all(const float* from, std::int64_t step, std::int64_t rows, std::int64_t length,
                          float* to, std::int64_t to_step) {
  const std::int64_t squares = length - length % kLanes, whole = rows - rows % kLanes;
  std::int64_t i = 0;
  for (; i < whole; i += kLanes, from += kLanes * step) {
    for (std::int64_t k = 0; k < squares; k += kLanes)
      transpose(from + k, step, to + k * to_step + i, to_step);
    for (std::int64_t k = squares; k < length; ++k)
      for (int r = 0; r < kLanes; ++r) to[k * to_step + i + r] = from[r * step + k];
  }
  for (; i < rows; ++i, from += step)
    for (std::int64_t k = 0; k < length; ++k) to[k * to_step + i] = from[k];
}

/// Lays out `count` rows of A or columns of B as [depth][width], zeros behind them.
inline void pack(const Operand& from, std::int64_t count, std::int64_t width, std::int64_t depth, float* to) {
  if (from.step == 1) {
    for (std::int64_t k = 0; k < depth; ++k, to += width) {
      const float* row = from.data + k * from.k_step;
      std::int64_t i = 0;
      for (; i + kLanes <= count; i += kLanes) store(load(row + i), to + i);
      for (; i < width; i += kLanes) store(load_first(row + i, count - i), to + i);
    }
    return;
  }
  transpose_all(from.data, from.step, count, depth, to, width);
  for (std::int64_t i = count; i < width; ++i)
    for (std::int64_t k = 0; k < depth; ++k) to[k * width + i] = 0.0f;
}

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
