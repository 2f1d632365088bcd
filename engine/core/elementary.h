#pragma once

namespace trainer::elementary {

// Elementary functions whose bits are the same on every processor, by every compiler and beside every C
// library, whose own functions differ in the last bit. Additions, multiplications and divisions of doubles in
// a fixed order; errors are below 1 ulp, of log1p and tan below 2. Values that IEEE 754 gives at infinity,
// NaN, 0 and 1.

double exp(double x);
/// NaN below 0.
double log(double x);
/// log(1 + x)
double log1p(double x);
/// For |x| up to 2^40.
double sin(double x);
double cos(double x);
double tan(double x);
/// x^y for x >= 0, or for whole y.
double pow(double x, double y);

inline float exp(float x) { return static_cast<float>(exp(static_cast<double>(x))); }
inline float sin(float x) { return static_cast<float>(sin(static_cast<double>(x))); }
inline float cos(float x) { return static_cast<float>(cos(static_cast<double>(x))); }
inline float tan(float x) { return static_cast<float>(tan(static_cast<double>(x))); }

}  // namespace trainer::elementary
