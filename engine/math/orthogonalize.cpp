#include "engine/math/orthogonalize.h"

#include <algorithm>
#include <utility>

#include "engine/math/elementwise.h"
#include "engine/math/gemm.h"
#include "engine/math/square_sum.h"

namespace trainer {
namespace {

// The published coefficients: the largest derivative at 0 that keeps singular values near 1.
constexpr float kA = 3.4445f, kB = -4.7750f, kC = 2.0315f;
constexpr double kEpsilon = 1e-7;

/// Divides by the Frobenius norm, so that no singular value is above 1.
void normalize(std::int64_t count, float* x) {
  const std::uint32_t largest = largest_magnitude(count, x);
  if (!is_finite_magnitude(largest)) return;
  SquareSum sum(largest);
  sum.add(count, x);
  scale(count, static_cast<float>(1 / (sum.root(sum.high(), sum.low()) + kEpsilon)), x, x);
}

}  // namespace

std::int64_t orthogonalize_scratch(std::int64_t rows, std::int64_t columns) {
  const std::int64_t side = std::min(rows, columns);
  return rows * columns + 2 * side * side;
}

void orthogonalize(std::int64_t rows, std::int64_t columns, int iterations, float* matrix,
                   std::span<float> scratch) {
  // The smaller product of X with itself: X X', or X' X with the factor on the other side.
  const bool is_wide = rows <= columns;
  const std::int64_t side = std::min(rows, columns), length = std::max(rows, columns);
  float* x = matrix;
  float* next = scratch.data();
  float* const square = next + rows * columns;
  float* const factor = square + side * side;
  normalize(rows * columns, x);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    gemm_float32(is_wide ? Transpose::no : Transpose::yes, is_wide ? Transpose::yes : Transpose::no, side,
                 side, length, x, columns, x, columns, 0, square, side);
    std::copy_n(square, side * side, factor);
    gemm_float32(Transpose::no, Transpose::no, side, side, side, square, side, square, side, kB / kC, factor,
                 side);
    scale(side * side, kC, factor, factor);
    std::copy_n(x, rows * columns, next);
    if (is_wide)
      gemm_float32(Transpose::no, Transpose::no, rows, columns, side, factor, side, x, columns, kA, next,
                   columns);
    else
      gemm_float32(Transpose::no, Transpose::no, rows, columns, side, x, columns, factor, side, kA, next,
                   columns);
    std::swap(x, next);
  }
  if (x != matrix) std::copy_n(x, rows * columns, matrix);
}

}  // namespace trainer
