#pragma once

#include <cstdint>

namespace trainer {

enum class Transpose : bool { no, yes };

/// C = A B + beta C on row-major matrices with leading dimensions, after the given transpositions: A is (m,
/// k), B is (k, n), C is (m, n). Computes on the calling thread; any threads may call at once. With beta 0
/// C is not read. If gemm_is_chained(), each element is one chain of multiply-adds over k in
/// order that begins with beta C, fused if the CPU can: its bits depend on its row of A and its column of B
/// alone, so partitions of m or n, or of k with beta 1, do not change them.
void gemm(Transpose a_transposed, Transpose b_transposed, std::int64_t m, std::int64_t n, std::int64_t k,
          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
          std::int64_t ldc);

/// The same in float32, whatever precision.h has in use. With bf16 gemm() keeps its bits only where k is cut
/// at even places.
void gemm_float32(Transpose a_transposed, Transpose b_transposed, std::int64_t m, std::int64_t n,
                  std::int64_t k, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
                  float beta, float* c, std::int64_t ldc);

/// True with the native engine alone (engine.h). OpenBLAS gives the same bits for the same shapes only.
bool gemm_is_chained();

/// Confines OpenBLAS to one thread per caller. Returns the name of its kernels: "SkylakeX".
const char* prepare_blas();
/// "OpenBLAS 0.3.21".
const char* blas_version();

namespace blas {
/// True if threads may call at once; false for the serial build of OpenBLAS.
bool serves_threads();
/// The same by OpenBLAS, for every engine in use. std::length_error for sizes beyond its integers;
/// Error(failure) where a thread's first call finds no memory for OpenBLAS's buffer.
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
