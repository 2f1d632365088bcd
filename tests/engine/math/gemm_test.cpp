#include "engine/math/gemm.h"

#include <string>

#include "tests/engine/math/numbers.h"

using namespace trainer;

TEST_CASE("gemm equals plain loops for every transposition, beta and leading dimension", "[gemm]") {
  prepare_blas();
  const auto [m, n, k] = GENERATE(table<int, int, int>(
      {{1, 1, 1}, {3, 5, 7}, {17, 1, 9}, {1, 33, 4}, {128, 10, 100}, {64, 63, 65}, {5, 4, 300}}));
  const Transpose ta = GENERATE(Transpose::no, Transpose::yes), tb = GENERATE(Transpose::no, Transpose::yes);
  const float beta = GENERATE(0.0f, 1.0f, -0.5f);
  const int lda = (ta == Transpose::yes ? m : k) + 2, ldb = (tb == Transpose::yes ? k : n) + 1, ldc = n + 3;
  const Numbers a = random_numbers(lda * (ta == Transpose::yes ? k : m), 1);
  const Numbers b = random_numbers(ldb * (tb == Transpose::yes ? n : k), 2);
  Numbers c = random_numbers(ldc * m, 3), expected = c;
  gemm(ta, tb, m, n, k, a.data(), lda, b.data(), ldb, beta, c.data(), ldc);
  reference::gemm(ta, tb, m, n, k, a.data(), lda, b.data(), ldb, beta, expected.data(), ldc);
  CHECK(difference(c, expected) < 1e-5);
}

TEST_CASE("gemm with nothing to sum over leaves beta C, and with beta 0 clears even NaN", "[gemm]") {
  Numbers c = {1, 2, kNan, 4};
  gemm(Transpose::no, Transpose::no, 2, 1, 0, nullptr, 0, nullptr, 0, 0.5f, c.data(), 2);
  CHECK(c[0] == 0.5f);
  CHECK(c[1] == 2);
  gemm(Transpose::no, Transpose::no, 2, 2, 0, nullptr, 0, nullptr, 0, 0, c.data(), 2);
  CHECK(same_bits(c, {0, 0, 0, 0}));
  gemm(Transpose::no, Transpose::no, 0, 2, 3, nullptr, 0, nullptr, 0, 0, nullptr, 2);
  gemm(Transpose::no, Transpose::no, 2, 0, 3, nullptr, 0, nullptr, 0, 0, nullptr, 2);
}

TEST_CASE("gemm overwrites NaN in C when beta is 0 and passes on NaN from A", "[gemm]") {
  const Numbers a = {kNan, 1, 2, 3}, b = {0, 1, 1, 1};
  Numbers c = filled(4, kNan);
  gemm(Transpose::no, Transpose::no, 2, 2, 2, a.data(), 2, b.data(), 2, 0, c.data(), 2);
  CHECK(std::isnan(c[0]));
  CHECK(std::isnan(c[1]));
  CHECK(c[2] == 3);
  CHECK(c[3] == 5);
}

TEST_CASE("gemm refuses sizes that BLAS cannot count", "[gemm]") {
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK_THROWS_AS(gemm(Transpose::no, Transpose::no, huge, 1, 1, nullptr, 1, nullptr, 1, 0, nullptr, 1),
                  std::logic_error);
}

TEST_CASE("the BLAS library tells its name, version and kernel", "[gemm]") {
  CHECK(std::string(blas_version()).starts_with("OpenBLAS "));
  CHECK_FALSE(std::string(prepare_blas()).empty());
}
