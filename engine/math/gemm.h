#pragma once

#include <cstdint>

namespace trainer {

enum class Transpose : bool { no, yes };

/// C = A B + beta C on row-major matrices with leading dimensions, after the given transpositions: A is m x
/// k, B is k x n, C is m x n. Runs on the calling thread alone; any threads may call at once.
/// Where gemm_is_chained(), each element is one chain of multiply-adds over k in order that begins with beta
/// C, fused where the CPU can: its bits depend on its row of A, its column of B and nothing else, so cutting
/// m or n, or carrying on with beta 1 after a part of k, changes none.
void gemm(Transpose a_transposed, Transpose b_transposed, std::int64_t m, std::int64_t n, std::int64_t k,
          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
          std::int64_t ldc);

/// Whether the products in use are our own (with AVX2 and above, and where BLAS does not serve threads); else
/// BLAS, which promises nothing about bits.
bool gemm_is_chained();

/// Confines BLAS to one thread per caller. Returns the name of the kernel in use ("SkylakeX") for the header
/// and `trainer info`.
const char* prepare_blas();
/// "OpenBLAS 0.3.21".
const char* blas_version();

namespace blas {
/// Whether threads may call at once: not OpenBLAS' serial build.
bool serves_threads();
/// The same by the BLAS library, whatever the kernels in use.
void gemm(Transpose a_transposed, Transpose b_transposed, std::int64_t m, std::int64_t n, std::int64_t k,
          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
          std::int64_t ldc);
}  // namespace blas

namespace reference {
/// The same as plain loops.
void gemm(Transpose a_transposed, Transpose b_transposed, std::int64_t m, std::int64_t n, std::int64_t k,
          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
          std::int64_t ldc);
}  // namespace reference

}  // namespace trainer
