#include "engine/math/fingerprint.h"

#include <algorithm>
#include <array>
#include <bit>

#include "engine/math/checksum.h"
#include "engine/math/kernels/kernels.h"

namespace trainer {
namespace {

/// Elements are in rows of so many columns.
constexpr std::int64_t kColumns = kFingerprintColumns;

/// The factor of an element is first + row * step of its column. `step` is twice an odd number: all factors
/// are odd, and no two of a column are equal.
struct Factors {
  std::uint64_t first, step;
};

constexpr std::array<Factors, kColumns> kFactors = [] {
  std::array<Factors, kColumns> factors{};
  std::uint64_t index = 0;
  for (Factors& one : factors) {
    one.first = mixed(++index * 0x9E3779B97F4A7C15u) | 1;
    one.step = 2 * (mixed(++index * 0x9E3779B97F4A7C15u) | 1);
  }
  return factors;
}();

std::uint64_t of_single_elements(std::span<const float> values, std::int64_t index) {
  std::uint64_t total = 0;
  for (const float value : values) {
    const Factors& column = kFactors[static_cast<std::size_t>(index % kColumns)];
    total += (column.first + static_cast<std::uint64_t>(index / kColumns) * column.step) *
             std::bit_cast<std::uint32_t>(value);
    ++index;
  }
  return total;
}

std::uint64_t of_rows(const float* values, std::int64_t rows, std::int64_t first_row) {
  std::array<std::uint64_t, kColumns> sums, later;
  kernels().checksum->column_sums_of_bits(rows, values, sums.data(), later.data());
  const auto end = static_cast<std::uint64_t>(first_row + rows);
  std::uint64_t total = 0;
  // A row r is end - r rows before the end, so the sum of r times its bits is end * sums - later.
  for (std::size_t i = 0; i < sums.size(); ++i)
    total += kFactors[i].first * sums[i] + kFactors[i].step * (end * sums[i] - later[i]);
  return total;
}

}  // namespace

std::uint64_t fingerprint(std::span<const float> values, std::int64_t first) {
  const std::int64_t row = (first + kColumns - 1) / kColumns;
  const auto head = values.first(std::min(values.size(), static_cast<std::size_t>(row * kColumns - first)));
  const auto body = values.subspan(head.size());
  const std::int64_t rows = std::ssize(body) / kColumns;
  const auto tail = body.subspan(static_cast<std::size_t>(rows * kColumns));
  std::uint64_t total = of_single_elements(head, first) + of_single_elements(tail, (row + rows) * kColumns);
  if (rows > 0) total += of_rows(body.data(), rows, row);
  return total;
}

}  // namespace trainer
