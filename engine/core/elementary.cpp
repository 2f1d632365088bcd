#include "engine/core/elementary.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

// Reductions and polynomials of fdlibm (Sun Microsystems 1993: e_exp.c, e_log.c, k_sin.c, k_cos.c). From the
// C library come only functions whose result is exact.

namespace trainer::elementary {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// ln 2 in two parts; the first has so few bits that its products with exponents are exact.
constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;

/// high + low, where low is below half an ulp of high.
struct Double2 {
  double high, low;
};

Double2 sum(double a, double b) {  // Knuth's TwoSum
  const double total = a + b, part = total - a;
  return {total, (a - (total - part)) + (b - part)};
}

Double2 product(double a, double b) {  // Dekker 1971
  const double total = a * b;
  if (!(std::fabs(total) < 0x1p960)) return {total, 0};
  constexpr double kSplit = 134217729;  // 2^27 + 1
  const auto upper = [](double x) {
    const double scaled = kSplit * x;
    return scaled - (scaled - x);
  };
  const double a_high = upper(a), a_low = a - a_high, b_high = upper(b), b_low = b - b_high;
  return {total, ((a_high * b_high - total) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

Double2 operator+(const Double2& a, const Double2& b) {
  const Double2 high = sum(a.high, b.high);
  return sum(high.high, high.low + (a.low + b.low));
}

Double2 operator*(const Double2& a, const Double2& b) {
  const Double2 high = product(a.high, b.high);
  if (high.low == 0 && !(std::fabs(high.high) < 0x1p960)) return high;
  return sum(high.high, high.low + (a.high * b.low + a.low * b.high));
}

Double2 operator/(const Double2& a, const Double2& b) {
  const double first = a.high / b.high;
  const Double2 part = product(first, b.high);
  return sum(first, (((a.high - part.high) - part.low) + (a.low - first * b.low)) / b.high);
}

double power_of_two(int exponent) {  // -1022 to 1023
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// x = mantissa 2^exponent with the mantissa between the roots of 1/2 and of 2; x is finite and above 0.
struct Parts {
  double mantissa;
  int exponent;
};

Parts parts_of(double x) {
  Parts parts{};
  parts.mantissa = std::frexp(x, &parts.exponent);
  if (parts.mantissa < 0x1.6a09e667f3bcdp-1) {
    parts.mantissa *= 2;
    --parts.exponent;
  }
  return parts;
}

/// log(x) for finite x > 0, by the series of the inverse hyperbolic tangent.
Double2 long_log(double x) {
  const auto [mantissa, exponent] = parts_of(x);
  const double above = mantissa - 1;  // exact
  const Double2 s = Double2{above, 0} / sum(above, 2), square = s * s;
  Double2 series{0, 0};
  for (int odd = 35; odd > 0; odd -= 2)
    series = series * square + Double2{1, 0} / Double2{static_cast<double>(odd), 0};
  const Double2 ln2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
  return s * series * Double2{2, 0} + ln2 * Double2{static_cast<double>(exponent), 0};
}

Double2 whole_power(double x, std::uint64_t exponent) {
  Double2 power{1, 0}, square{x, 0};
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) power = power * square;
    square = square * square;
  }
  return power;
}

/// x less the nearest multiple of pi / 2, and which of four quarters that is.
struct Quarter {
  Double2 rest;
  int number;
};

Quarter quarter_of(double x) {
  constexpr double kFirst = 0x1.921fb54442d18p0, kSecond = 0x1.1a62633145c07p-54;  // pi / 2
  const double count = std::floor(x * 0x1.45f306dc9c883p-1 + 0.5);
  const Double2 multiple = product(count, kFirst);
  const Double2 rest = sum(x - multiple.high, -(multiple.low + count * kSecond));
  return {rest, static_cast<int>(count - 4 * std::floor(count / 4))};
}

/// The sine of x.high + x.low for |x| <= pi / 4.
double near_sine(const Double2& x) {
  const double square = x.high * x.high, cube = square * x.high;
  const double series =
      8.33333333332248946124e-03 +
      square * (-1.98412698298579493134e-04 +
                square * (2.75573137070700676789e-06 +
                          square * (-2.50507602534068634195e-08 + square * 1.58969099521155010221e-10)));
  return x.high - ((square * (0.5 * x.low - cube * series) - x.low) - cube * -1.66666666666666324348e-01);
}

double near_cosine(const Double2& x) {
  const double square = x.high * x.high;
  const double series =
      square * (4.16666666666666019037e-02 +
                square * (-1.38888888888741095749e-03 +
                          square * (2.48015872894767294178e-05 +
                                    square * (-2.75573143513906633035e-07 +
                                              square * (2.08757232129817482790e-09 +
                                                        square * -1.13596475577881948265e-11)))));
  const double half = 0.5 * square, most = 1 - half;
  return most + (((1 - most) - half) + (square * series - x.high * x.low));
}

/// The sine of x + `quarters` pi / 2.
double shifted_sine(double x, int quarters) {
  if (!(std::fabs(x) < kInfinity)) return x - x;
  const Quarter quarter = quarter_of(x);
  const int number = (quarter.number + quarters) % 4;
  const double value = number % 2 == 0 ? near_sine(quarter.rest) : near_cosine(quarter.rest);
  return number < 2 ? value : -value;
}

}  // namespace

double exp(double x) {
  x = x > 710 ? 710 : x < -746 ? -746 : x;
  if (!(x == x)) return x;
  const double count = std::floor(x * 1.44269504088896338700e+00 + 0.5);
  const double high = x - count * kLn2High, low = count * kLn2Low, rest = high - low, square = rest * rest;
  const double c = rest - square * (1.66666666666666019037e-01 +
                                    square * (-2.77777777770155933842e-03 +
                                              square * (6.61375632143793436117e-05 +
                                                        square * (-1.65339022054652515390e-06 +
                                                                  square * 4.13813679705723846039e-08))));
  const double value = 1 - ((low - (rest * c) / (2 - c)) - high);
  const int exponent = static_cast<int>(count), half = exponent >> 1;
  // Two factors, since one alone would leave the range before the result does.
  return value * power_of_two(half) * power_of_two(exponent - half);
}

double log(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
  if (!(x < kInfinity)) return x;
  const auto [mantissa, exponent] = parts_of(x);
  const double f = mantissa - 1, s = f / (2 + f), z = s * s, w = z * z, k = exponent;
  const double even =
      w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half = 0.5 * f * f;
  return k * kLn2High - ((half - (s * (half + (odd + even)) + k * kLn2Low)) - f);
}

double log1p(double x) {
  const Double2 whole = sum(1, x);
  if (!(whole.high > 0 && whole.high < kInfinity)) return log(whole.high);
  return log(whole.high) + whole.low / whole.high;
}

double sin(double x) { return shifted_sine(x, 0); }

double cos(double x) { return shifted_sine(x, 1); }

double tan(double x) { return sin(x) / cos(x); }

double pow(double x, double y) {
  constexpr double kMostWhole = 0x1p53;
  if (std::floor(y) == y && std::fabs(y) <= kMostWhole) {
    const Double2 power = whole_power(x, static_cast<std::uint64_t>(std::fabs(y)));
    if (!(y < 0)) return power.high;
    const bool divides = power.high != 0 && std::fabs(power.high) < kInfinity;
    return divides ? (Double2{1, 0} / power).high : 1 / power.high;
  }
  if (!(x > 0 && x < kInfinity) || x == 1) return y < 0 ? 1 / x : x;
  const Double2 exponent = long_log(x) * Double2{y, 0};
  const double value = exp(exponent.high);
  // At the ends of the range there is no rest.
  return value > 0 && value < kInfinity ? value + value * exponent.low : value;
}

}  // namespace trainer::elementary
