#include "engine/math/gemm.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/math/instruction_set.h"
#include "engine/math/shared_factor.h"
#include "tests/engine/math/values.h"

using namespace trainer;

namespace {

#ifdef __x86_64__
[[gnu::target("fma")]]
#endif
void add_fused(float factor, const Values& x, float* sums) {
  for (std::size_t i = 0; i < x.size(); ++i) sums[i] = __builtin_fmaf(factor, x[i], sums[i]);
}

void add_rounded(float factor, const Values& x, float* sums) {
  for (std::size_t i = 0; i < x.size(); ++i) sums[i] = factor * x[i] + sums[i];
}

struct Matrices {
  Transpose ta, tb;
  std::int64_t m, n, k, lda, ldb, ldc;
  Values a, b, c;

  /// Rows have `gap` values between them, or are a multiple of 1024 apart where `gap` is that.
  Matrices(Transpose a_transposed, Transpose b_transposed, std::int64_t rows, std::int64_t columns,
           std::int64_t depth, std::int64_t gap)
      : Matrices(a_transposed, b_transposed, rows, columns, depth, gap, 0) {
    a = random_values(std::ssize(a), 1);
    b = random_values(std::ssize(b), 2);
    c = random_values(std::ssize(c), 3);
  }

  Matrices(Transpose a_transposed, Transpose b_transposed, std::int64_t rows, std::int64_t columns,
           std::int64_t depth, std::int64_t gap, float value)
      : ta(a_transposed),
        tb(b_transposed),
        m(rows),
        n(columns),
        k(depth),
        lda(row_distance(ta == Transpose::yes ? m : k, gap)),
        ldb(row_distance(tb == Transpose::yes ? k : n, gap)),
        ldc(row_distance(n, gap)),
        a(filled(lda * (ta == Transpose::yes ? k : m), value)),
        b(filled(ldb * (tb == Transpose::yes ? n : k), value)),
        c(filled(ldc * m, value)) {}

  /// The elements of others in another layout. What lies between rows is NaN, which shows where it is used.
  Matrices(const Matrices& others, Transpose a_transposed, Transpose b_transposed, std::int64_t gap)
      : Matrices(a_transposed, b_transposed, others.m, others.n, others.k, gap, kNan) {
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t row = 0; row < m; ++row) a[a_index(row, i)] = others.a_at(row, i);
      for (std::int64_t column = 0; column < n; ++column) b[b_index(i, column)] = others.b_at(i, column);
    }
    c = laid_out(others.c);
  }

  static std::int64_t row_distance(std::int64_t row, std::int64_t gap) {
    return gap == 1024 ? (row + 1023) / 1024 * 1024 : row + gap;
  }
  std::size_t a_index(std::int64_t row, std::int64_t i) const {
    return static_cast<std::size_t>(ta == Transpose::yes ? i * lda + row : row * lda + i);
  }
  std::size_t b_index(std::int64_t i, std::int64_t column) const {
    return static_cast<std::size_t>(tb == Transpose::yes ? column * ldb + i : i * ldb + column);
  }
  const float& a_at(std::int64_t row, std::int64_t i) const { return a[a_index(row, i)]; }
  const float& b_at(std::int64_t i, std::int64_t column) const { return b[b_index(i, column)]; }
  /// Values without gaps in the layout of C.
  Values laid_out(const Values& values) const {
    Values result = filled(ldc * m, kNan);
    for (std::int64_t row = 0; row < m; ++row)
      std::copy_n(values.begin() + row * n, n, result.begin() + row * ldc);
    return result;
  }

  Values product(float beta) const {
    Values result = c;
    gemm(ta, tb, m, n, k, a.data(), lda, b.data(), ldb, beta, result.data(), ldc);
    return result;
  }
  Values reference_product(float beta) const {
    Values result = c;
    reference::gemm(ta, tb, m, n, k, a.data(), lda, b.data(), ldb, beta, result.data(), ldc);
    return result;
  }
  /// One chain of multiply-adds for each element, fused but for x86's baseline. Those of a row go ahead
  /// together, since each multiply-add waits for the one before it.
  Values chains(float beta) const {
    Values result = c, row_of_b(static_cast<std::size_t>(n));
    const bool fused = instruction_set() != std::string_view("baseline");
    for (std::int64_t row = 0; row < m; ++row)
      for (float& element : std::span(result).subspan(static_cast<std::size_t>(row * ldc), row_of_b.size()))
        element = beta == 0.0f ? 0.0f : beta * element;
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t column = 0; column < n; ++column)
        row_of_b[static_cast<std::size_t>(column)] = b_at(i, column);
      for (std::int64_t row = 0; row < m; ++row)
        (fused ? add_fused : add_rounded)(a_at(row, i), row_of_b, result.data() + row * ldc);
    }
    return result;
  }
  /// C += A B for a part of each.
  void add_part(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                std::int64_t first, std::int64_t depth, Values& result) const {
    gemm(ta, tb, rows, columns, depth, &a_at(row, first), lda, &b_at(first, column), ldb, 1,
         result.data() + row * ldc + column, ldc);
  }
};

}  // namespace

TEST_CASE("gemm equals plain loops for every transposition, beta and leading dimension", "[gemm]") {
  prepare_blas();
  // Sizes around those of register tiles, of cache blocks and of what is left of them.
  const auto [m, n, k] =
      GENERATE(table<int, int, int>({{1, 1, 1},
                                     {3, 5, 7},
                                     {17, 1, 9},
                                     {1, 33, 4},
                                     {2, 130, 31},
                                     {128, 10, 100},
                                     {64, 63, 65},
                                     {5, 4, 300},
                                     {33, 3, 19},
                                     {131, 100, 37},
                                     {70, 52, 517},
                                     {9, 49, 257},
                                     {200, 2, 5},
                                     {147, 28, 64},
                                     // B so large that it is packed ahead.
                                     {19, 270, 500},
                                     {35, 270, 500},
                                     {35, 103, 1300},
                                     // A packed by tiles, but for what is left of its rows.
                                     {70, 530, 41},
                                     {22, 515, 530},
                                     {20, 521, 30},
                                     // C so large that it is fetched ahead, too.
                                     {280, 480, 150},
                                     // Multiplied the other way round.
                                     {35, 1043, 70},
                                     // A in parts of some rows and some of k, as it is and by tiles
                                     {530, 29, 250},
                                     {275, 515, 500}}));
  // The slow plain loops run once for all layouts.
  const Matrices plain(Transpose::no, Transpose::no, m, n, k, 0);
  for (const float beta : {0.0f, 1.0f, -0.5f}) {
    const Values expected = plain.reference_product(beta);
    const Values chains = gemm_is_chained() ? plain.chains(beta) : Values();
    for (const Transpose ta : {Transpose::no, Transpose::yes})
      for (const Transpose tb : {Transpose::no, Transpose::yes})
        for (const int gap : {0, 3, 1024}) {
          CAPTURE(m, n, k, beta, ta, tb, gap);
          const Matrices matrices(plain, ta, tb, gap);
          const Values result = matrices.product(beta);
          CHECK(difference(result, matrices.laid_out(expected)) < 1e-5);
          if (gemm_is_chained()) CHECK(same_bits(result, matrices.laid_out(chains)));
        }
  }
}

TEST_CASE("cuts of rows, columns and sums do not show in the bits of our own gemm", "[gemm]") {
  if (!gemm_is_chained()) return;
  const Transpose ta = GENERATE(Transpose::no, Transpose::yes), tb = GENERATE(Transpose::no, Transpose::yes);
  const Matrices matrices(ta, tb, 150, 116, 290, 1);
  const Values whole = matrices.product(1);
  const auto [row, column, first] =
      GENERATE(table<int, int, int>({{75, 58, 145}, {1, 115, 289}, {149, 100, 3}, {128, 10, 256}}));
  Values parts = matrices.c;
  matrices.add_part(0, row, 0, 116, 0, 290, parts);
  matrices.add_part(row, 150 - row, 0, column, 0, 290, parts);
  matrices.add_part(row, 150 - row, column, 116 - column, 0, first, parts);
  matrices.add_part(row, 150 - row, column, 116 - column, first, 290 - first, parts);
  CHECK(same_bits(parts, whole));
}

TEST_CASE("a factor that products share gives each of them the bits of gemm", "[gemm]") {
  const auto transposed = GENERATE(Transpose::no, Transpose::yes);
  const std::int64_t n = GENERATE(1, 47, 48, 53, 128), k = GENERATE(1, 30, 300), m = GENERATE(1, 9, 200);
  const float beta = GENERATE(0.0f, 1.0f);
  const Matrices matrices(Transpose::no, transposed, m, n, k, 3);
  Values memory(static_cast<std::size_t>(n * k)), result = matrices.c;
  const SharedFactor factor(transposed, k, n, matrices.b.data(), matrices.ldb, memory.data());
  factor.multiply(m, matrices.a.data(), matrices.lda, beta, result.data(), matrices.ldc);
  INFO(m << "x" << n << "x" << k);
  if (gemm_is_chained()) CHECK(result == matrices.product(beta));
  const Values expected = matrices.reference_product(beta);
  for (std::size_t i = 0; i < result.size(); ++i) CHECK(result[i] == Approx(expected[i]).margin(1e-4));
}

TEST_CASE("gemm with nothing to sum over leaves beta C, and with beta 0 clears even NaN", "[gemm]") {
  Values c = {1, 2, kNan, 4};
  gemm(Transpose::no, Transpose::no, 2, 1, 0, nullptr, 0, nullptr, 0, 0.5f, c.data(), 2);
  CHECK(c[0] == 0.5f);
  CHECK(c[1] == 2);
  gemm(Transpose::no, Transpose::no, 2, 2, 0, nullptr, 0, nullptr, 0, 0, c.data(), 2);
  CHECK(same_bits(c, {0, 0, 0, 0}));
  gemm(Transpose::no, Transpose::no, 0, 2, 3, nullptr, 0, nullptr, 0, 0, nullptr, 2);
  gemm(Transpose::no, Transpose::no, 2, 0, 3, nullptr, 0, nullptr, 0, 0, nullptr, 2);
}

TEST_CASE("gemm overwrites NaN in C when beta is 0 and passes on NaN from A to its row alone", "[gemm]") {
  const int n = GENERATE(2, 5, 20, 100);
  Matrices matrices(Transpose::no, Transpose::no, 70, n, 40, 0);
  matrices.c = filled(70 * n, kNan);
  matrices.a[33 * 40 + 39] = kNan;
  const Values result = matrices.product(0);
  for (int row = 0; row < 70; ++row)
    for (int column = 0; column < n; ++column) {
      CAPTURE(row, column);
      REQUIRE(std::isnan(result[static_cast<std::size_t>(row * n + column)]) == (row == 33));
    }
}

TEST_CASE("threads that multiply at once get the bits that one gets alone, and soon", "[gemm][slow]") {
  constexpr int m = 128, n = 100, k = 784, kThreads = 4, kCalls = 500;
  const Values a = random_values(m * k, 1), b = random_values(k * n, 2);
  const auto product = [&](Values& c) {
    gemm(Transpose::no, Transpose::no, m, n, k, a.data(), k, b.data(), n, 0, c.data(), n);
  };
  Values alone(m * n);
  product(alone);
  std::atomic<int> wrong{0};
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&] {
        Values c(m * n);
        for (int call = 0; call < kCalls; ++call) {
          product(c);
          if (!same_bits(c, alone)) ++wrong;
        }
      });
  }
  CHECK(wrong == 0);
  // 0.3 s on one core. Where each thread starts threads of its own it takes minutes.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("sizes that BLAS cannot count are an error", "[gemm]") {
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK_THROWS_AS(blas::gemm(Transpose::no, Transpose::no, huge, 1, 1, nullptr, 1, nullptr, 1, 0, nullptr, 1),
                  std::logic_error);
}

TEST_CASE("the BLAS library has a name, version and kernel", "[gemm]") {
  CHECK(std::string(blas_version()).starts_with("OpenBLAS "));
  CHECK_FALSE(std::string(prepare_blas()).empty());
}
