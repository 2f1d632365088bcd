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

/// Columns whose sums are kept in registers.
constexpr int kColumnBlock = 32;

/// A number that is known while compiling, for loops of fixed length.
template <int value>
struct Fixed {
  constexpr operator std::int64_t() const { return value; }
};

/// Calls body(first, width) for blocks of columns; all widths but the last are fixed.
template <class Body>
inline void for_each_block(std::int64_t columns, Body body) {
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
