#include "engine/math/orthogonalize.h"

#include <algorithm>
#include <cmath>

#include "tests/engine/math/values.h"

using namespace trainer;

namespace {

using Doubles = std::vector<double>;

/// The published iteration X <- a X + (b A + c A A) X with A = X X', in double precision, as plain sums.
Doubles expected(std::int64_t rows, std::int64_t columns, int iterations, const Values& matrix) {
  Doubles x(matrix.begin(), matrix.end());
  double squares = 0;
  for (const double value : x) squares += value * value;
  for (double& value : x) value /= std::sqrt(squares) + 1e-7;
  const auto at = [](std::int64_t index) { return static_cast<std::size_t>(index); };
  for (int iteration = 0; iteration < iterations; ++iteration) {
    Doubles a(at(rows * rows)), factor(a.size()), next(x.size());
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < rows; ++j)
        for (std::int64_t k = 0; k < columns; ++k)
          a[at(i * rows + j)] += x[at(i * columns + k)] * x[at(j * columns + k)];
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < rows; ++j) {
        double square = 0;
        for (std::int64_t k = 0; k < rows; ++k) square += a[at(i * rows + k)] * a[at(k * rows + j)];
        factor[at(i * rows + j)] = -4.7750 * a[at(i * rows + j)] + 2.0315 * square;
      }
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        next[at(i * columns + j)] = 3.4445 * x[at(i * columns + j)];
        for (std::int64_t k = 0; k < rows; ++k)
          next[at(i * columns + j)] += factor[at(i * rows + k)] * x[at(k * columns + j)];
      }
    x = next;
  }
  return x;
}

Values orthogonal(std::int64_t rows, std::int64_t columns, int iterations, Values matrix) {
  Values scratch(static_cast<std::size_t>(orthogonalize_scratch(rows, columns)));
  orthogonalize(rows, columns, iterations, matrix.data(), scratch);
  return matrix;
}

}  // namespace

TEST_CASE("orthogonalize() follows the published iteration, for wide and for tall matrices",
          "[orthogonalize]") {
  const auto [rows, columns] = GENERATE(
      table<std::int64_t, std::int64_t>({{1, 1}, {1, 9}, {9, 1}, {5, 5}, {7, 40}, {40, 7}, {33, 65}}));
  const int iterations = GENERATE(1, 4, 5);
  CAPTURE(rows, columns, iterations);
  const Values matrix = random_values(rows * columns, 3);
  const Values result = orthogonal(rows, columns, iterations, matrix);
  const Doubles reference = expected(rows, columns, iterations, matrix);
  double difference = 0;
  for (std::size_t i = 0; i < result.size(); ++i)
    difference = std::max(difference, std::fabs(static_cast<double>(result[i]) - reference[i]));
  CHECK(difference < 2e-5);
}

TEST_CASE("five iterations bring the singular values of a matrix near 1, and leave zeros",
          "[orthogonalize]") {
  constexpr std::int64_t kRows = 2, kColumns = 3;
  // Singular values 300 and 6, of which the norm is 300.06.
  const Values result = orthogonal(kRows, kColumns, 5, {300, 0, 0, 0, 0, -6});
  CHECK(result[0] == Approx(1).margin(0.35));
  CHECK(result[5] == Approx(-1).margin(0.35));
  CHECK(result[1] == 0);
  CHECK(orthogonal(kRows, kColumns, 5, Values(6)) == Values(6));
}
