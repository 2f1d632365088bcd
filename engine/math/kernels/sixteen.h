#pragma once

#include <cstdint>

#include "engine/math/kernels/vector.h"

// Sums and maxima of rows by sixteen partial ones on every CPU, so that the order is always the same.

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// Sixteen elements in registers. Not one vector type: the compiler selects from types wider than a register
/// element by element.
struct Sixteen {
  static constexpr int kParts = 16 / kLanes;
  Vector parts[kParts];
};

/// combine() of the registers of some.
template <class Combine, class... Operands>
inline Sixteen each(Combine combine, const Operands&... operands) {
  Sixteen result;
  for (int part = 0; part < Sixteen::kParts; ++part) result.parts[part] = combine(operands.parts[part]...);
  return result;
}

inline Sixteen operator+(const Sixteen& a, const Sixteen& b) {
  return each([](const Vector& x, const Vector& y) { return x + y; }, a, b);
}
inline Sixteen operator+(const Sixteen& a, float b) {
  return each([b](const Vector& x) { return x + b; }, a);
}
inline Sixteen operator-(const Sixteen& a, float b) {
  return each([b](const Vector& x) { return x - b; }, a);
}
inline Sixteen operator*(const Sixteen& a, const Sixteen& b) {
  return each([](const Vector& x, const Vector& y) { return x * y; }, a, b);
}
inline Sixteen operator*(const Sixteen& a, float b) {
  return each([b](const Vector& x) { return x * b; }, a);
}
inline Sixteen& operator+=(Sixteen& a, const Sixteen& b) { return a = a + b; }

/// combine() of halves until one element is left.
template <class Register, class Combine>
inline float fold_register(const Register& all, Combine combine) {
  constexpr int kElements = sizeof(Register) / sizeof(float);
  if constexpr (kElements == 16) {
    return fold_register(combine(__builtin_shufflevector(all, all, 0, 1, 2, 3, 4, 5, 6, 7),
                                 __builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15)),
                         combine);
  } else if constexpr (kElements == 8) {
    return fold_register(
        combine(__builtin_shufflevector(all, all, 0, 1, 2, 3), __builtin_shufflevector(all, all, 4, 5, 6, 7)),
        combine);
  } else {
    const auto swapped = combine(all, __builtin_shufflevector(all, all, 2, 3, 0, 1));
    return combine(swapped, __builtin_shufflevector(swapped, swapped, 1, 0, 3, 2))[0];
  }
}

template <class Combine>
inline float fold(Sixteen all, Combine combine) {
  for (int half = Sixteen::kParts / 2; half > 0; half /= 2)
    for (int part = 0; part < half; ++part)
      all.parts[part] = combine(all.parts[part], all.parts[part + half]);
  return fold_register(all.parts[0], combine);
}

inline float sum_of(const Sixteen& all) {
  return fold(all, [](const auto& a, const auto& b) { return a + b; });
}

/// Sixteen neighbours in some arrays, or those that are left.
struct Neighbours {
  std::int64_t first, count;

  /// With `fill` behind the last.
  Sixteen of(const float* x, float fill) const {
    x += first;
    if (count >= 16) return all_of(x);
    float all[16];
#pragma GCC unroll 1
    for (int lane = 0; lane < 16; ++lane) all[lane] = lane < static_cast<int>(count) ? x[lane] : fill;
    return all_of(all);
  }

 private:
  static Sixteen all_of(const float* x) {
    Sixteen all;
    for (int part = 0; part < Sixteen::kParts; ++part) all.parts[part] = load(x + part * kLanes);
    return all;
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
  const auto larger = [](const auto& a, const auto& b) { return b > a ? b : a; };
  Sixteen largest = Sixteen{} + x[0];
  for_each_sixteen(count, [&largest, x, larger](const Neighbours& here) {
    largest = each(larger, largest, here.of(x, x[0]));
  });
  return fold(largest, larger);
}

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
