#include "engine/math/gemm.h"

#include <cblas.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/error.h"
#include "engine/math/engine.h"
#include "engine/math/kernels/kernels.h"
#include "engine/math/precision.h"
#include "engine/math/product_times.h"
#include "engine/math/shared_product.h"

namespace trainer {
namespace {

blasint blas_size(std::int64_t size) {
  if (size < 0 || size > std::numeric_limits<blasint>::max())
    throw std::length_error("gemm: BLAS cannot count to " + std::to_string(size));
  return static_cast<blasint>(size);
}

CBLAS_TRANSPOSE blas_transpose(Transpose transpose) {
  return transpose == Transpose::yes ? CblasTrans : CblasNoTrans;
}

/// Makes OpenBLAS compute on the calling thread. Its OpenMP build keeps a number of threads for each caller,
/// so each caller sets it once; else workers start threads of their own and wait for each other for seconds.
void use_one_thread() {
  static std::mutex one_at_a_time;
  thread_local const bool is_set [[maybe_unused]] = [] {
    const std::lock_guard lock(one_at_a_time);
    openblas_set_num_threads(1);
    return true;
  }();
}

/// Once for each thread: OpenBLAS keeps a buffer of this size for each caller, and tries for ever to map it.
void require_buffer() {
  constexpr std::size_t kBufferBytes = std::size_t{128} << 20;
  static std::mutex one_at_a_time;
  thread_local const bool has_room [[maybe_unused]] = [] {
    const std::lock_guard lock(one_at_a_time);
    void* const buffer =
        ::mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED)
      throw Error(ExitCode::failure, "OpenBLAS finds no memory for its buffers of 128 MiB a thread",
                  "a higher limit of memory (ulimit -v), fewer --threads, or --engine native");
    ::munmap(buffer, kBufferBytes);
    return true;
  }();
}

/// What products of bfloat16 need, once for each thread.
float* thread_scratch() {
  thread_local std::vector<float> scratch(static_cast<std::size_t>(bfloat16_kernels().scratch));
  return scratch.data();
}

std::chrono::nanoseconds processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// Of a call, the processor time where another thread has interrupted it; reading it takes longer than
/// reading the clock.
template <class Call>
std::chrono::nanoseconds time_of(Call call) {
  using Clock = std::chrono::steady_clock;
  const std::chrono::nanoseconds used = processor_time();
  const Clock::time_point begin = Clock::now();
  call();
  const std::chrono::nanoseconds passed = Clock::now() - begin;
  return std::min(passed, processor_time() - used);
}

bool is_empty(std::int64_t m, std::int64_t n, std::int64_t k) { return m == 0 || n == 0 || k == 0; }

Product product(Transpose a_transposed, Transpose b_transposed, std::int64_t m, std::int64_t n,
                std::int64_t k, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
                float beta, float* c, std::int64_t ldc) {
  const auto operand = [](const float* data, std::int64_t row, bool contiguous_in_k) {
    return contiguous_in_k ? Operand{data, row, 1} : Operand{data, 1, row};
  };
  return {m,
          n,
          k,
          operand(a, lda, a_transposed == Transpose::no),
          operand(b, ldb, b_transposed == Transpose::yes),
          beta,
          c,
          ldc};
}

}  // namespace

bool blas::serves_threads() {
  constexpr int kSequential = 0;
  static const bool serves =
      openblas_get_parallel() != kSequential ||
      std::string_view(openblas_get_config()).find("USE_LOCKING") != std::string_view::npos;
  return serves;
}

void blas::gemm(Transpose a_transposed, Transpose b_transposed, std::int64_t m, std::int64_t n,
                std::int64_t k, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
                float beta, float* c, std::int64_t ldc) {
  use_one_thread();
  require_buffer();
  cblas_sgemm(CblasRowMajor, blas_transpose(a_transposed), blas_transpose(b_transposed), blas_size(m),
              blas_size(n), blas_size(k), 1.0f, a, blas_size(lda), b, blas_size(ldb), beta, c,
              blas_size(ldc));
}

void gemm(Transpose a_transposed, Transpose b_transposed, std::int64_t m, std::int64_t n, std::int64_t k,
          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
          std::int64_t ldc) {
  if (precision_in_use() == Precision::float32 || is_empty(m, n, k))
    return gemm_float32(a_transposed, b_transposed, m, n, k, a, lda, b, ldb, beta, c, ldc);
  multiply_shared(product(a_transposed, b_transposed, m, n, k, a, lda, b, ldb, beta, c, ldc),
                  [](const Product& part) { bfloat16_kernels().multiply(part, thread_scratch()); });
}

void gemm_float32(Transpose a_transposed, Transpose b_transposed, std::int64_t m, std::int64_t n,
                  std::int64_t k, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
                  float beta, float* c, std::int64_t ldc) {
  if (is_empty(m, n, k)) {
    // BLAS libraries differ in whether they read A and B here; beta 0 also overwrites NaN.
    for (std::int64_t row = 0; row < m; ++row)
      for (std::int64_t column = 0; column < n; ++column) {
        float& element = c[row * ldc + column];
        element = beta == 0.0f ? 0.0f : beta * element;
      }
    return;
  }
  const auto multiply = [&](bool by_openblas) {
    if (by_openblas) return blas::gemm(a_transposed, b_transposed, m, n, k, a, lda, b, ldb, beta, c, ldc);
    multiply_shared(product(a_transposed, b_transposed, m, n, k, a, lda, b, ldb, beta, c, ldc),
                    kernels().gemm->multiply);
  };
  const ProductShape shape{a_transposed, b_transposed, m, n, k};
  ProductTimes* const times = ProductTimes::current();
  if (!times) return multiply(openblas_computes(shape));
  times->add(shape, time_of([&] { multiply(times->engine() == Engine::openblas); }));
}

bool gemm_is_chained() { return engine_in_use() == Engine::native && !engine_goes_by_shape(); }

const char* prepare_blas() {
  use_one_thread();
  return openblas_get_corename();
}

const char* blas_version() {
  // The configuration begins "OpenBLAS 0.3.21 DYNAMIC_ARCH ...".
  static const std::string version = [] {
    const std::string configuration = openblas_get_config();
    return configuration.substr(0, configuration.find(' ', configuration.find(' ') + 1));
  }();
  return version.c_str();
}

}  // namespace trainer
