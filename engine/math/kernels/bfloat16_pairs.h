#pragma once

#include <bit>
#include <cstdint>

#include "engine/math/kernels/vector.h"

#if defined(__FMA__)
#include <immintrin.h>
#endif

// Products of bfloat16 with sums in float: each 32-bit element of a factor holds two values, of which the
// even one has the lower half. A multiply-add of two such elements adds the product of the odd values, then
// that of the even ones, each rounded once to nearest; subnormal factors, sums and results count as zero.
// This is VDPBF16PS of x86 (Intel Architecture Instruction Set Extensions Programming Reference, chapter 2),
// computed by itself where the processor lacks it.

namespace trainer::KERNEL_NAMESPACE {
namespace {

typedef std::uint32_t Words32 __attribute__((vector_size(kLanes * sizeof(std::uint32_t))));

constexpr bool kPairsOfValues = true;
constexpr std::uint32_t kSign = 0x80000000, kExponent = 0x7f800000, kUpperHalf = 0xffff0000;

inline Vector as_values(const Words32& bits) { return std::bit_cast<Vector>(bits); }
inline Words32 as_bits(const Vector& values) { return std::bit_cast<Words32>(values); }

/// Two values in all lanes; they are copied as bits, since arithmetic would flush them.
inline Vector all_lanes(float pair) { return as_values(std::bit_cast<std::uint32_t>(pair) + Words32{}); }

/// Subnormal values become zeros of their sign.
inline Vector flushed(const Vector& values) {
  const Words32 bits = as_bits(values);
  const auto is_normal = std::bit_cast<Words32>((bits & kExponent) != 0);
  return as_values(bits & (is_normal | kSign));
}

/// a b + c of bfloat16 factors; without a fused instruction the product is exact, too.
inline Vector add_product(const Vector& a, const Vector& b, const Vector& c) {
#if defined(__FMA__) && KERNEL_LANES == 16
  return flushed(Vector(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c))));
#elif defined(__FMA__) && KERNEL_LANES == 8
  return flushed(Vector(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c))));
#else
  return flushed(a * b + c);
#endif
}

inline Vector multiply_add(const Vector& a, const Vector& b, const Vector& c) {
#if defined(__AVX512BF16__) && KERNEL_LANES == 16
  return Vector(_mm512_dpbf16_ps(__m512(c), (__m512bh)__m512i(a), (__m512bh)__m512i(b)));
#else
  const Words32 x = as_bits(a), y = as_bits(b);
  const Vector odd = add_product(as_values(x & kUpperHalf), as_values(y & kUpperHalf), flushed(c));
  return add_product(as_values(x << 16), as_values(y << 16), odd);
#endif
}

inline Vector multiply_add(const Vector& a, float b, const Vector& c) {
  return multiply_add(a, all_lanes(b), c);
}

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
