#pragma once

#include <cstdint>

#include "engine/math/kernels/vector.h"
#include "engine/math/types/update_steps.h"

// Loops over arrays, two vectors at a time. A processor overlaps a fixed number of instructions: in a loop
// that waits for memory, fewer instructions a value mean more loads under way.

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

inline float root(float x) { return __builtin_sqrtf(x); }
inline Vector root(Vector x) {
  Vector roots;
  for (int lane = 0; lane < kLanes; ++lane) roots[lane] = __builtin_sqrtf(x[lane]);
  return roots;
}
inline Two root(Two x) { return {root(x.a), root(x.b)}; }

/// Consecutive elements of an array: two vectors of them, or one element.
struct TwoVectors {
  static Two read(const float* from) { return {load(from), load(from + kLanes)}; }
  static void write(Two values, float* to) {
    store(values.a, to);
    store(values.b, to + kLanes);
  }
  /// Reads, and fetches the values kFetchedAhead behind.
  static Two stream(const float* from) {
    for (std::int64_t i = 0; i < 2 * kLanes; i += kLine) fetch_line(from, kFetchedAhead + i);
    return read(from);
  }
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
