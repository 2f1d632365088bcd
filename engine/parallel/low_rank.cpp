#include "engine/parallel/low_rank.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "engine/core/index.h"
#include "engine/core/random.h"

namespace trainer {
namespace {

constexpr std::int64_t kBlock = 512;   ///< columns whose factors stay in the L1 cache
constexpr std::int64_t kRowBlock = 8;  ///< rows of so many columns that stay there, too

// In functions of their own, whose arguments do not overlap: the compiler makes vector code of them.
float dot(std::int64_t count, const float* __restrict a, const float* __restrict b) {
  constexpr std::int64_t kLanes = 16;
  float sums[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  for (std::int64_t lane = 0; i < count; ++i, ++lane) sums[lane] += a[i] * b[i];
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2)
    for (std::int64_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  return sums[0];
}

void add_scaled(std::int64_t count, float factor, const float* __restrict x, float* __restrict y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

/// y += sum of factors[k * factor_step] times the row k of x, by fours: y is read and written less often.
void add_rows(std::int64_t count, std::int64_t rows, const float* factors, std::int64_t factor_step,
              const float* x, std::int64_t x_row, float* __restrict y) {
  std::int64_t k = 0;
  for (; k + 4 <= rows; k += 4) {
    const float a = factors[k * factor_step], b = factors[(k + 1) * factor_step],
                c = factors[(k + 2) * factor_step], d = factors[(k + 3) * factor_step];
    const float* __restrict first = x + k * x_row;
    const float* __restrict second = first + x_row;
    const float* __restrict third = second + x_row;
    const float* __restrict fourth = third + x_row;
    for (std::int64_t i = 0; i < count; ++i)
      y[i] += (a * first[i] + b * second[i]) + (c * third[i] + d * fourth[i]);
  }
  for (; k < rows; ++k) add_scaled(count, factors[k * factor_step], x + k * x_row, y);
}

void subtract(std::int64_t count, const float* __restrict a, const float* __restrict b,
              float* __restrict difference) {
  for (std::int64_t i = 0; i < count; ++i) difference[i] = a[i] - b[i];
}

double product(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

void multiply_by_q(const LowRankShape& shape, const Range& here, const float* m, const float* q, float* p) {
  for (std::int64_t row = here.first; row < here.last; ++row)
    for (std::int64_t k = 0; k < shape.rank; ++k)
      p[row * shape.rank + k] = dot(shape.columns, m + row * shape.columns, q + k * shape.columns);
}

void multiply_by_p(const LowRankShape& shape, const Range& here, const float* m, const float* p, float* q) {
  for (std::int64_t k = 0; k < shape.rank; ++k)
    std::fill(q + k * shape.columns + here.first, q + k * shape.columns + here.last, 0.0f);
  for (std::int64_t first = here.first; first < here.last; first += kBlock) {
    const std::int64_t count = std::min(kBlock, here.last - first);
    // Rows of M by blocks, which the factors share.
    for (std::int64_t row = 0; row < shape.rows; row += kRowBlock)
      for (std::int64_t k = 0; k < shape.rank; ++k)
        add_rows(count, std::min(kRowBlock, shape.rows - row), p + row * shape.rank + k, shape.rank,
                 m + row * shape.columns + first, shape.columns, q + k * shape.columns + first);
  }
}

void replace_by_product(const LowRankShape& shape, const Range& here, const float* p, const float* q,
                        const float* own_q, float* m, float* rest) {
  for (std::int64_t first = 0; first < shape.columns; first += kBlock) {
    const std::int64_t count = std::min(kBlock, shape.columns - first);
    for (std::int64_t row = here.first; row < here.last; ++row) {
      std::array<float, kBlock> own = {}, all = {};
      const float* const factors = p + row * shape.rank;
      add_rows(count, shape.rank, factors, 1, own_q + first, shape.columns, own.data());
      add_rows(count, shape.rank, factors, 1, q + first, shape.columns, all.data());
      const std::int64_t place = row * shape.columns + first;
      subtract(count, m + place, own.data(), rest + place);
      std::copy_n(all.begin(), count, m + place);
    }
  }
}

void orthonormalize(const LowRankShape& shape, std::span<float> p) {
  constexpr double kDependent = 1e-6;  // what rounding leaves of a column that depends on others
  std::vector<std::vector<double>> columns(at(shape.rank), std::vector<double>(at(shape.rows)));
  for (std::size_t k = 0; k < columns.size(); ++k) {
    std::vector<double>& column = columns[k];
    for (std::size_t row = 0; row < column.size(); ++row) column[row] = p[row * columns.size() + k];
    const double before = std::sqrt(product(column, column));
    for (int repeat = 0; repeat < 2; ++repeat)
      for (std::size_t other = 0; other < k; ++other) {
        const double factor = product(column, columns[other]);
        for (std::size_t row = 0; row < column.size(); ++row) column[row] -= factor * columns[other][row];
      }
    const double length = std::sqrt(product(column, column));
    // What is not finite stays so: the step ends the run.
    const double scale = length <= kDependent * before ? 0 : 1 / length;
    for (std::size_t row = 0; row < column.size(); ++row) {
      column[row] = scale == 0 ? 0 : column[row] * scale;
      p[row * columns.size() + k] = static_cast<float>(column[row]);
    }
  }
}

void normalize_rows(const LowRankShape& shape, std::uint64_t seed, std::span<float> q) {
  for (std::int64_t k = 0; k < shape.rank; ++k) {
    const std::span<float> row = q.subspan(at(k * shape.columns), at(shape.columns));
    const auto squares = [&] {
      double sum = 0;
      for (const float value : row) sum += static_cast<double>(value) * static_cast<double>(value);
      return sum;
    };
    if (squares() == 0) {
      const RandomStream random(seed, "powersgd", static_cast<std::uint64_t>(k));
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = random.normal(i);
    }
    const double scale = 1 / std::sqrt(squares());
    for (float& value : row) value = static_cast<float>(value * scale);
  }
}

}  // namespace trainer
