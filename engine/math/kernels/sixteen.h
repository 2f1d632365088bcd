#pragma once

#include <cstdint>

// Sums and maxima of rows by sixteen partial ones on every CPU, so that the order is always the same. Vector
// types, because the compiler turns plain loops over sixteen elements into sixteen scalars.

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// Sixteen elements, in as many registers as they take.
typedef float Sixteen __attribute__((vector_size(16 * sizeof(float))));
typedef float LooseSixteen __attribute__((vector_size(16 * sizeof(float)), aligned(4), may_alias));

/// combine() of halves until one element is left.
template <class Combine>
inline float fold(const Sixteen& all, Combine combine) {
  const auto eight = combine(__builtin_shufflevector(all, all, 0, 1, 2, 3, 4, 5, 6, 7),
                             __builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15));
  const auto four = combine(__builtin_shufflevector(eight, eight, 0, 1, 2, 3),
                            __builtin_shufflevector(eight, eight, 4, 5, 6, 7));
  const auto swapped = combine(four, __builtin_shufflevector(four, four, 2, 3, 0, 1));
  return combine(swapped, __builtin_shufflevector(swapped, swapped, 1, 0, 3, 2))[0];
}

inline float sum_of(const Sixteen& all) {
  return fold(all, [](const auto& a, const auto& b) { return a + b; });
}

inline float largest_of(const Sixteen& all) {
  return fold(all, [](const auto& a, const auto& b) { return b > a ? b : a; });
}

/// Sixteen neighbours in some arrays, or those that are left.
struct Neighbours {
  std::int64_t first, count;

  /// With `fill` behind the last.
  Sixteen of(const float* x, float fill) const {
    x += first;
    if (count >= 16) return *reinterpret_cast<const LooseSixteen*>(x);
    float all[16];
#pragma GCC unroll 1
    for (int lane = 0; lane < 16; ++lane) all[lane] = lane < static_cast<int>(count) ? x[lane] : fill;
    return *reinterpret_cast<const LooseSixteen*>(all);
  }
};

/// visit(neighbours) along a row.
template <class Visit>
inline void for_each_sixteen(std::int64_t count, Visit visit) {
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) visit(Neighbours{i, 16});
  if (i < count) visit(Neighbours{i, count - i});
}

inline float row_sum(std::int64_t count, const float* x) {
  Sixteen sums = {};
  for_each_sixteen(count, [&sums, x](const Neighbours& here) { sums += here.of(x, 0.0f); });
  return sum_of(sums);
}

/// Of at least one; a NaN is passed over unless it is the first.
inline float largest_of(std::int64_t count, const float* x) {
  Sixteen largest = Sixteen{} + x[0];
  for_each_sixteen(count, [&largest, x](const Neighbours& here) {
    const Sixteen values = here.of(x, x[0]);
    largest = values > largest ? values : largest;
  });
  return largest_of(largest);
}

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
