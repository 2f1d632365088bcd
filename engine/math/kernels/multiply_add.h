#pragma once

#include "engine/math/kernels/vector.h"

#if defined(KERNEL_BFLOAT16_PAIRS)
#include "engine/math/kernels/bfloat16_pairs.h"
#elif defined(KERNEL_SOFTWARE_FMA)
#include "engine/math/kernels/software_fma.h"
#elif defined(__FMA__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

// Sums of products: fused multiply-adds where the instruction set has them, written out, so that no compiler
// decides where to contract. Only the plain x86 kernels round products first.

#if !defined(KERNEL_BFLOAT16_PAIRS)
namespace trainer::KERNEL_NAMESPACE {
namespace {

constexpr bool kPairsOfValues = false;

inline Vector all_lanes(float value) { return value - Vector{}; }  // unlike value + 0, it keeps -0

/// a b + c of one element.
inline float multiply_add(float a, float b, float c) {
#if defined(KERNEL_SOFTWARE_FMA)
  return software_fma(all_lanes(a), all_lanes(b), all_lanes(c))[0];
#elif defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__aarch64__)  // Clang defines not all of them
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/// a b + c
inline Vector multiply_add(const Vector& a, const Vector& b, const Vector& c) {
#if defined(KERNEL_SOFTWARE_FMA)
  return software_fma(a, b, c);
#elif defined(__FMA__) && KERNEL_LANES == 16
  return Vector(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
#elif defined(__FMA__) && KERNEL_LANES == 8
  return Vector(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
#elif defined(__FMA__)
  return Vector(_mm_fmadd_ps(__m128(a), __m128(b), __m128(c)));
#elif defined(__aarch64__)
  return Vector(vfmaq_f32(float32x4_t(c), float32x4_t(a), float32x4_t(b)));
#elif defined(__FP_FAST_FMAF)
  Vector sums;
  for (int lane = 0; lane < kLanes; ++lane) sums[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
  return sums;
#else
  return a * b + c;
#endif
}

/// a b + c with one factor for all lanes.
inline Vector multiply_add(const Vector& a, float b, const Vector& c) {
  return multiply_add(a, all_lanes(b), c);
}

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
#endif
