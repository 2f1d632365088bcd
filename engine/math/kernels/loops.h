#pragma once

#include <cstdint>

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// Calls body(i) for 0 <= i < count. Its arrays are equal or apart, so iterations do not depend on each
/// other.
template <class Body>
inline void for_each(std::int64_t count, Body body) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

/// Indices [first, last).
struct Range {
  std::int64_t first, last;
};

/// The i of [0, count) with 0 <= start + i step < extent.
inline Range inside(std::int64_t start, std::int64_t step, std::int64_t count, std::int64_t extent) {
  std::int64_t first = start < 0 ? (-start + step - 1) / step : 0;
  std::int64_t last = start < extent ? (extent - start + step - 1) / step : 0;
  last = last < count ? last : count;
  first = first < last ? first : last;
  return {first, last};
}

inline std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// The length, a multiple of `unit`, of equal parts of about `most`, so that none is short. `whole` > 0.
inline std::int64_t equal_part(std::int64_t whole, std::int64_t most, std::int64_t unit) {
  const std::int64_t parts = (whole + most - 1) / most;
  return ((whole + parts - 1) / parts + unit - 1) / unit * unit;
}

/// Columns whose sums are kept in registers.
constexpr int kColumnBlock = 32;

/// An integer that the compiler knows, for loops of fixed length.
template <int value>
struct Fixed {
  constexpr operator std::int64_t() const { return value; }
};

/// Calls body(first, width) for blocks of columns; all widths but the last are fixed.
template <class Body>
inline void for_each_column_block(std::int64_t columns, Body body) {
  std::int64_t first = 0;
  for (; first + kColumnBlock <= columns; first += kColumnBlock) body(first, Fixed<kColumnBlock>{});
  if (first + kColumnBlock / 2 <= columns) {
    body(first, Fixed<kColumnBlock / 2>{});
    first += kColumnBlock / 2;
  }
  if (first < columns) body(first, columns - first);
}

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
