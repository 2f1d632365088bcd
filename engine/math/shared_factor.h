#pragma once

#include <cstdint>

#include "engine/math/gemm.h"

namespace trainer {

/// A matrix B (k, n) that several products with few rows share: a copy in the order in which they read it, in
/// memory that the caller owns.
class SharedFactor {
 public:
  /// B lies in `b` with this leading dimension, transposed or not; `memory` takes k n floats.
  SharedFactor(Transpose transposed, std::int64_t k, std::int64_t n, const float* b, std::int64_t ldb,
               float* memory);

  /// C (m, n) = A B + beta C, as gemm() does, with the same bits where one engine computes all products.
  void multiply(std::int64_t m, const float* a, std::int64_t lda, float beta, float* c,
                std::int64_t ldc) const;

 private:
  std::int64_t k_, n_, panel_;
  const float* panels_;  ///< of so many columns each, but for the last
};

}  // namespace trainer
