#pragma once

#include <cstdint>

#include "engine/math/kernels/vector.h"
#include "engine/math/updates.h"

// Loops over arrays by two vectors a turn. What a processor looks ahead by itself is a number of
// instructions: where arrays come from the third cache, each instruction more in a loop that waits for them
// costs time, even if the processor had time for it.

namespace trainer::KERNEL_NAMESPACE {
namespace {

struct Two {
  Vector a, b;

  friend Two operator+(Two x, Two y) { return {x.a + y.a, x.b + y.b}; }
  friend Two operator-(Two x, Two y) { return {x.a - y.a, x.b - y.b}; }
  friend Two operator*(Two x, Two y) { return {x.a * y.a, x.b * y.b}; }
  friend Two operator/(Two x, Two y) { return {x.a / y.a, x.b / y.b}; }
  friend Two operator*(float x, Two y) { return {x * y.a, x * y.b}; }
  friend Two operator+(Two x, float y) { return {x.a + y, x.b + y}; }
  friend Two operator/(Two x, float y) { return {x.a / y, x.b / y}; }
};

/// Makes the compiler compute with what it has loaded: it would rather load again what several instructions
/// read.
inline void keep(Vector& numbers) {
#if defined(__x86_64__)
  asm("" : "+v"(numbers));
#endif
}
inline void keep(Two& numbers) {
  keep(numbers.a);
  keep(numbers.b);
}
inline void keep(float&) {}

inline float root(float x) { return __builtin_sqrtf(x); }
inline Vector root(Vector x) {
  Vector roots;
  for (int lane = 0; lane < kLanes; ++lane) roots[lane] = __builtin_sqrtf(x[lane]);
  return roots;
}
inline Two root(Two x) { return {root(x.a), root(x.b)}; }

/// Neighbours in an array: so many of them, or one.
struct TwoVectors {
  static Two read(const float* from) { return {load(from), load(from + kLanes)}; }
  static void write(Two numbers, float* to) {
    store(numbers.a, to);
    store(numbers.b, to + kLanes);
  }
  /// Reads, and fetches what is read later; that may lie behind the array's end.
  static Two stream(const float* from) {
    for (int i = 0; i < 2 * kLanes; i += kLine) __builtin_prefetch(from + kFetchedAhead + i);
    return read(from);
  }

 private:
  static constexpr int kLine = 16;  ///< floats
};

/// Calls body(TwoVectors or One, i) for all i below count.
template <class Body>
inline void for_each_two_vectors(std::int64_t count, Body body) {
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) body(TwoVectors{}, i);
  for (; i < count; ++i) body(One{}, i);
}

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
