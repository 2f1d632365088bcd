#include "engine/math/shared_factor.h"

#include <algorithm>

#include "engine/math/engine.h"
#include "engine/math/kernels/kernels.h"

namespace trainer {

SharedFactor::SharedFactor(Transpose transposed, std::int64_t k, std::int64_t n, const float* b,
                           std::int64_t ldb, float* memory)
    : k_(k), n_(n), panel_(engine_in_use() == Engine::native ? kernels().gemm->panel : n), panels_(memory) {
  for (std::int64_t first = 0; first < n; first += panel_) {
    const std::int64_t width = std::min(panel_, n - first);
    float* const panel = memory + first * k;
    if (transposed == Transpose::no)
      for (std::int64_t row = 0; row < k; ++row)
        std::copy_n(b + row * ldb + first, width, panel + row * width);
    else
      for (std::int64_t column = 0; column < width; ++column)
        for (std::int64_t row = 0; row < k; ++row)
          panel[row * width + column] = b[(first + column) * ldb + row];
  }
}

void SharedFactor::multiply(std::int64_t m, const float* a, std::int64_t lda, float beta, float* c,
                            std::int64_t ldc) const {
  for (std::int64_t first = 0; first < n_; first += panel_) {
    const std::int64_t width = std::min(panel_, n_ - first);
    gemm(Transpose::no, Transpose::no, m, width, k_, a, lda, panels_ + first * k_, width, beta, c + first,
         ldc);
  }
}

}  // namespace trainer
