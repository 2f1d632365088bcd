#pragma once

#include <cstdint>
#include <span>

#include "engine/core/range.h"

namespace trainer {

// Products of a matrix M (rows, columns) with the thin factors of its approximation P Q (PowerSGD, Vogels et
// al. 2019, arXiv:1905.13727): P (rows, rank), and Q (rank, columns), the transpose of the paper's Q. All are
// row by row in memory. Several threads may share a product by rows or columns: no bit depends on it.

/// A matrix in the flat buffer, and the rank of its approximation.
struct LowRankShape {
  std::int64_t rows = 0, columns = 0, rank = 0;

  std::int64_t p_floats() const { return rows * rank; }
  std::int64_t q_floats() const { return rank * columns; }
};

/// The rows `here` of P = M Q'.
void multiply_by_q(const LowRankShape& shape, const Range& here, const float* m, const float* q, float* p);
/// The columns `here` of Q = P' M.
void multiply_by_p(const LowRankShape& shape, const Range& here, const float* m, const float* p, float* q);
/// The rows `here`: M becomes P Q, and `rest` what M has beyond P times `own_q`.
void replace_by_product(const LowRankShape& shape, const Range& here, const float* p, const float* q,
                        const float* own_q, float* m, float* rest);

/// Makes the columns of P orthonormal (modified Gram-Schmidt, twice). A column that depends on those before
/// it becomes 0.
void orthonormalize(const LowRankShape& shape, std::span<float> p);
/// Scales each row of Q to length 1. A row of length 0 gets random values: they depend on `seed` and the row
/// alone.
void normalize_rows(const LowRankShape& shape, std::uint64_t seed, std::span<float> q);

}  // namespace trainer
