#pragma once

// The exponential and functions made of it, without branches, so that loops over them become vectors.

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// x = steps ln 2 + rest with |rest| <= ln 2 / 2.
struct Reduced {
  int steps;
  float rest;
};

inline Reduced reduce(float x) {
  // Adding 1.5 * 2^23 rounds to an integer, which then lies in the low bits.
  const float shifted = x * 1.44269504f + 12582912.0f;
  const int steps = static_cast<int>(__builtin_bit_cast(unsigned, shifted) - 0x4B400000u);
  const float count = shifted - 12582912.0f;
  // ln 2 in two parts; the first has so few bits that its product is exact.
  return {steps, (x - count * 0.693359375f) + count * 2.12194440e-4f};
}

/// e^x - 1 for |x| <= ln 2 / 2, by its Taylor series. Pairs of terms do not wait for each other.
inline float small_exponential_minus_one(float x) {
  const float square = x * x;
  const float last = x * (1.0f / 5040) + 1.0f / 720;
  const float middle = x * (1.0f / 120) + 1.0f / 24;
  const float first = x * (1.0f / 6) + 0.5f;
  return ((last * square + middle) * square + first) * square + x;
}

inline float power_of_two(int exponent) {
  return __builtin_bit_cast(float, static_cast<unsigned>(exponent + 127) << 23);
}

inline float exponential(float x) {
  // Comparisons that let NaN pass. Beyond these limits the result is infinity or 0.
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  const Reduced reduced = reduce(x);
  const int half = reduced.steps >> 1;
  // Two factors, since one alone would leave the range before the result does.
  return (small_exponential_minus_one(reduced.rest) + 1.0f) * power_of_two(half) *
         power_of_two(reduced.steps - half);
}

/// e^x for x <= 0; 0 where it is subnormal, which would take more steps.
inline float exponential_below_zero(float x) {
  const bool vanishes = x < -87.0f;
  const Reduced reduced = reduce(vanishes ? -87.0f : x);
  const float e = (small_exponential_minus_one(reduced.rest) + 1.0f) * power_of_two(reduced.steps);
  return vanishes ? 0.0f : e;
}

/// e^x - 1 for -20 <= x <= 20, without cancellation near 0.
inline float near_exponential_minus_one(float x) {
  const Reduced reduced = reduce(x);
  const float power = power_of_two(reduced.steps);
  return power * small_exponential_minus_one(reduced.rest) + (power - 1.0f);
}

/// The same for all x <= 20.
inline float exponential_minus_one(float x) {
  return near_exponential_minus_one(x < -20.0f ? -20.0f : x);  // where it has become -1
}

inline float sigmoid(float x) {
  const float e = exponential_below_zero(-__builtin_fabsf(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

inline float hyperbolic_tangent(float x) {
  float twice = 2.0f * __builtin_fabsf(x);
  twice = twice > 20.0f ? 20.0f : twice;  // where tanh has become 1
  const float e = near_exponential_minus_one(twice);
  return __builtin_copysignf(e / (e + 2.0f), x);
}

/// log((1 + s) / (1 - s)) for |s| <= 1 / 3, by its Taylor series.
inline float twice_inverse_tanh(float s) {
  const float square = s * s;
  float series = 2.0f / 15;
  series = series * square + 2.0f / 13;
  series = series * square + 2.0f / 11;
  series = series * square + 2.0f / 9;
  series = series * square + 2.0f / 7;
  series = series * square + 2.0f / 5;
  series = series * square + 2.0f / 3;
  return series * square * s + 2.0f * s;
}

/// log(x) for normal x > 0; NaN and infinity stay.
inline float logarithm(float x) {
  // Counting from sqrt(1/2) on puts the mantissa between it and sqrt(2).
  const unsigned shifted = __builtin_bit_cast(unsigned, x) - 0x3F3504F3u;
  const auto exponent = static_cast<float>(static_cast<int>(shifted) >> 23);
  const float mantissa = __builtin_bit_cast(float, (shifted & 0x007FFFFFu) + 0x3F3504F3u);
  const float result = exponent * 0.693359375f + (twice_inverse_tanh((mantissa - 1.0f) / (mantissa + 1.0f)) -
                                                  exponent * 2.12194440e-4f);
  return x < __builtin_inff() ? result : x;
}

/// log(1 + e^x)
inline float softplus(float x) {
  const float e = exponential(-__builtin_fabsf(x));
  return (x < 0.0f ? 0.0f : x) + twice_inverse_tanh(e / (2.0f + e));
}

/// A function's value and derivative.
struct Curve {
  float value, derivative;
};

inline Curve silu_curve(float x) {
  const float s = sigmoid(x);
  // Infinity times nothing would be NaN.
  const float bounded = x < -1e30f ? -1e30f : x;
  const float bounded_twice = bounded > 1e30f ? 1e30f : bounded;
  return {bounded * s, s * (1.0f + bounded_twice * (1.0f - s))};
}

/// x sigmoid(x) (Elfwing et al. 2018)
inline float silu(float x) { return silu_curve(x).value; }
inline float silu_derivative(float x) { return silu_curve(x).derivative; }

/// The share of a normal distribution below -x, and e^(-x^2 / 2), for x >= 0. A polynomial in 1 / (1 + p x),
/// fitted to the share over the power, holds relative to the share itself: 4e-7 to where floats end.
struct Tail {
  float share, power;
};

inline Tail normal_tail(float x) {
  const float power = exponential_below_zero(-0.5f * (x * x));
  const float t = 1.0f / (1.0f + 0.304f * x);
  const float square = t * t;
  float series = t * 0.0368631743f - 0.155317962f;
  series = series * square + (t * 0.192221016f - 0.0431590565f);
  series = series * square + (t * 0.123568818f + 0.102417931f);
  series = series * square + (t * 0.122171484f + 0.121234633f);
  return {series * t * power, power};
}

inline Curve gelu_curve(float x) {
  const Tail tail = normal_tail(__builtin_fabsf(x));
  const float share = x < 0.0f ? tail.share : 1.0f - tail.share;
  // Infinity times no share would be NaN.
  const float bounded = x < -1e30f ? -1e30f : x;
  const float close = x < -1e18f ? -1e18f : (x > 1e18f ? 1e18f : x);
  constexpr float kRootOfTwoPi = 2.50662827f;
  return {bounded * share, share + close * tail.power * (1.0f / kRootOfTwoPi)};
}

/// x times the share of a normal distribution below x (Hendrycks and Gimpel 2016).
inline float gelu(float x) { return gelu_curve(x).value; }
inline float gelu_derivative(float x) { return gelu_curve(x).derivative; }

/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 (Hendrycks and Gimpel 2016), by the logistic function.
inline Curve gelu_tanh_curve(float x) {
  constexpr float kTwiceRoot = 1.59576912f, kCube = 0.044715f;
  // Beyond these the share is 0 or 1; cubes and products stay finite.
  const float close = x < -20.0f ? -20.0f : (x > 20.0f ? 20.0f : x);
  const float square = close * close;
  const float share = sigmoid(kTwiceRoot * (close + kCube * square * close));
  const float bounded = x < -1e30f ? -1e30f : x;
  return {bounded * share,
          share + close * (share * (1.0f - share)) * (kTwiceRoot + (3.0f * kTwiceRoot * kCube) * square)};
}

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
