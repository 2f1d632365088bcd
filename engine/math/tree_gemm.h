#pragma once

#include <cstdint>
#include <span>

#include "engine/core/sum_tree.h"

namespace trainer {

/// roots[r] = the sum along `tree` of the products A_g' B_g below root r, where A (k, m) and B (k, n) are
/// row-major, group g has the rows up to ends[g], and roots are (m, n) with row distance ldc. The bits are
/// those of gemm() for each group and SumTree::sum(). Computes nothing and returns false for what the native
/// kernels do not serve: OpenBLAS, bfloat16, summands that are rounded, more rows than a panel has.
bool gemm_along_tree(const SumTree& tree, std::span<const std::int64_t> ends, std::int64_t m, std::int64_t n,
                     const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
                     std::span<float* const> roots, std::int64_t ldc);

}  // namespace trainer
