// Products of float matrices whose elements are rounded to bfloat16: packed as pairs along k, two values in
// an element, they go to the tiles of gemm_tiles.h, compiled for pairs.

#include <bit>
#include <cstdint>

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"
#include "engine/math/kernels/packing.h"
#include "engine/math/kernels/vector.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace trainer::KERNEL_NAMESPACE {

extern const GemmKernels gemm_kernels;
extern const ConvolutionKernels convolution_kernels;

namespace {

// Of k at once: the tiles read panels of this depth where they lie.
constexpr std::int64_t kPairs = 256;
constexpr std::int64_t kPairsOfA = 1 << 18;  // the L2 cache holds half of them or more
constexpr std::int64_t kPanel = 3 * kLanes;

/// The upper half holds the value, rounded to nearest even; subnormal values become zero.
inline std::uint32_t rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  const std::uint32_t finite = bits + 0x7fff + (bits >> 16 & 1);
  const std::uint32_t number = magnitude > 0x7f800000 ? bits | 0x400000 : finite;
  return magnitude < 0x00800000 ? bits & 0x80000000 : number;
}

inline float pair(float even, float odd) {
  return std::bit_cast<float>(rounded(even) >> 16 | (rounded(odd) & 0xffff0000));
}

#if defined(__AVX512BF16__)
/// The values of a, then those of b, rounded as by rounded().
inline __m512i both_rounded(const float* a, const float* b) {
  return (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(b), _mm512_loadu_ps(a));
}

/// As many pairs as whole vectors hold; the rest is left.
inline std::int64_t pair_whole_rows(std::int64_t count, const float* even, const float* odd, float* pairs) {
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  // Of the 16-bit values i and 16 + i by turns.
  const __m512i turns = _mm512_add_epi32(_mm512_mullo_epi32(lanes, _mm512_set1_epi32(0x00010001)),
                                         _mm512_set1_epi32(0x00100000));
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    _mm512_storeu_si512(pairs + i, _mm512_permutexvar_epi16(turns, both_rounded(even + i, odd + i)));
  return i;
}

inline std::int64_t pair_whole_columns(std::int64_t pairs_in_all, const float* x, float* pairs) {
  std::int64_t i = 0;
  for (; i + kLanes <= pairs_in_all; i += kLanes)
    _mm512_storeu_si512(pairs + i, both_rounded(x + 2 * i, x + 2 * i + kLanes));
  return i;
}
#else
inline std::int64_t pair_whole_rows(std::int64_t, const float*, const float*, float*) { return 0; }
inline std::int64_t pair_whole_columns(std::int64_t, const float*, float*) { return 0; }
#endif

void pair_rows(std::int64_t count, const float* even, const float* odd, float* pairs) {
  if (!odd) return for_each(count, [=](std::int64_t i) { pairs[i] = pair(even[i], 0.0f); });
  const std::int64_t done = pair_whole_rows(count, even, odd, pairs);
  for_each(count - done, [=](std::int64_t i) { pairs[done + i] = pair(even[done + i], odd[done + i]); });
}

void pair_columns(std::int64_t count, const float* x, float* pairs) {
  const std::int64_t done = pair_whole_columns(count / 2, x, pairs);
  for_each(count / 2 - done,
           [=](std::int64_t i) { pairs[done + i] = pair(x[2 * (done + i)], x[2 * (done + i) + 1]); });
  if (count % 2 > 0) pairs[count / 2] = pair(x[count - 1], 0.0f);
}

/// Pairs along k of `count` rows of A or columns of B, `step` elements apart in `to`.
Operand pair_all(const Operand& from, std::int64_t count, std::int64_t depth, std::int64_t step, float* to) {
  if (from.step == 1) {
    for (std::int64_t k = 0; k < depth; k += 2) {
      const float* const even = from.data + k * from.k_step;
      pair_rows(count, even, k + 1 < depth ? even + from.k_step : nullptr, to + k / 2 * step);
    }
    return {to, 1, step};
  }
  for (std::int64_t i = 0; i < count; ++i) pair_columns(depth, from.data + i * from.step, to + i * step);
  return {to, step, 1};
}

/// Some columns of B; where they are contiguous and fill vectors, the tiles read them as they lie here.
Operand pair_panel(const Operand& b, std::int64_t columns, std::int64_t depth, float* to) {
  const std::int64_t row = columns % kLanes == 0 ? columns : kPanel;
  return pair_all(b, columns, depth, b.step == 1 ? row : kPairs, to);
}

void multiply(const Product& product, float* scratch) {
  const auto& [m, n, k, a, b, beta, c, ldc] = product;
  float* const pairs_of_a = scratch;
  float* const pairs_of_b = scratch + kPairsOfA;
  const auto from = [](const Operand& whole, std::int64_t first, std::int64_t at) {
    return Operand{whole.data + first * whole.step + at * whole.k_step, whole.step, whole.k_step};
  };
  const std::int64_t usual_depth = equal_part(k, 2 * kPairs, kLanes);
  const std::int64_t rows_at_once = kPairsOfA / (usual_depth / 2) / kLanes * kLanes - kLanes;
  for (std::int64_t depth_before = 0; depth_before < k; depth_before += usual_depth) {
    const std::int64_t depth = least(usual_depth, k - depth_before), pairs = (depth + 1) / 2;
    for (std::int64_t row = 0; row < m; row += rows_at_once) {
      const std::int64_t rows = least(rows_at_once, m - row);
      const std::int64_t step = a.step == 1 ? (rows + kLanes - 1) / kLanes * kLanes : pairs;
      const Operand some = pair_all(from(a, row, depth_before), rows, depth, step, pairs_of_a);
      for (std::int64_t column = 0, columns = 0; column < n; column += columns) {
        // Twice two vectors rather than three and one, as gemm.cpp has it.
        columns = n - column == 4 * kLanes ? 2 * kLanes : least(kPanel, n - column);
        const Operand panel = pair_panel(from(b, column, depth_before), columns, depth, pairs_of_b);
        gemm_kernels.multiply({rows, columns, pairs, some, panel, depth_before == 0 ? beta : 1.0f,
                               c + row * ldc + column, ldc});
      }
    }
  }
}

}  // namespace

extern const Bfloat16Kernels bfloat16_kernels;
const Bfloat16Kernels bfloat16_kernels = {kPairsOfA + kPairs * kPanel, multiply, &convolution_kernels,
                                          pair_rows, pair_columns};

}  // namespace trainer::KERNEL_NAMESPACE
