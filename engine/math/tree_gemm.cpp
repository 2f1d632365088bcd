#include "engine/math/tree_gemm.h"

#include "engine/math/gemm.h"
#include "engine/math/kernels/kernels.h"
#include "engine/math/precision.h"
#include "engine/math/shared_product.h"

namespace trainer {

bool gemm_along_tree(const SumTree& tree, std::span<const std::int64_t> ends, std::int64_t m, std::int64_t n,
                     const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
                     std::span<float* const> roots, std::int64_t ldc) {
  const GemmKernels& gemm = *kernels().gemm;
  if (!gemm_is_chained() || precision_in_use() != Precision::float32 || tree.rounds_summands() ||
      tree.depth() > TreeProduct::kMaxDepth || ends.empty() || ends.back() > gemm.tree_k)
    return false;
  multiply_shared({m,
                   n,
                   {a, 1, lda},
                   {b, 1, ldb},
                   std::ssize(ends),
                   ends.data(),
                   tree.merges().data(),
                   roots.data(),
                   std::ssize(roots),
                   ldc},
                  gemm.multiply_along_tree);
  return true;
}

}  // namespace trainer
