#pragma once

#include <cstdint>

#include "engine/math/kernels/vector.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

typedef double Doubles __attribute__((vector_size(kLanes * sizeof(double))));
typedef std::int64_t Words __attribute__((vector_size(kLanes * sizeof(std::int64_t))));

/// a b + c, rounded once, without instructions for it. The product is exact in double; its sum with c is
/// rounded to odd, so that rounding it again gives what one rounding gives (Boldo and Melquiond, "Emulation
/// of a FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008). Not inlined: there
/// are hundreds of calls, and size counts for more than speed.
[[gnu::noinline]] inline Vector software_fma(Vector a, Vector b, Vector c) {
  const Doubles product = __builtin_convertvector(a, Doubles) * __builtin_convertvector(b, Doubles);
  const Doubles added = __builtin_convertvector(c, Doubles);
  const Doubles sum = product + added;
  // The error of the sum (Knuth's TwoSum). It is NaN for what is not finite, which then stays as it is.
  const Doubles part = sum - product;
  const Doubles error = (product - (sum - part)) + (added - part);
  Words bits;
  __builtin_memcpy(&bits, &sum, sizeof bits);
  const Words above = error > 0.0, below = error<0.0, positive = sum> 0.0;
  // Of the two neighbours of the exact sum the odd one: if the nearest is even, the one towards the error.
  const Words is_even = (bits & 1) - 1, grows = ~(above ^ positive);
  bits += ((grows & 2) - 1) & (above | below) & is_even;
  Doubles odd;
  __builtin_memcpy(&odd, &bits, sizeof odd);
  return __builtin_convertvector(odd, Vector);
}

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
