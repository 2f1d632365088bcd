#include "engine/math/gemm.h"

namespace trainer::reference {

void gemm(Transpose a_transposed, Transpose b_transposed, std::int64_t m, std::int64_t n, std::int64_t k,
          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
          std::int64_t ldc) {
  for (std::int64_t row = 0; row < m; ++row)
    for (std::int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        const float left = a_transposed == Transpose::yes ? a[i * lda + row] : a[row * lda + i];
        const float right = b_transposed == Transpose::yes ? b[column * ldb + i] : b[i * ldb + column];
        sum += static_cast<double>(left) * static_cast<double>(right);
      }
      float& element = c[row * ldc + column];
      element = static_cast<float>(beta == 0.0f ? sum : sum + static_cast<double>(beta * element));
    }
}

}  // namespace trainer::reference
