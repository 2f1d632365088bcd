#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace trainer {

using Values = std::vector<float>;

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Uniform values between -1 and 1, times `scale`.
inline Values random_values(std::int64_t count, unsigned seed, float scale = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  Values values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(generator);
  return values;
}

inline Values filled(std::int64_t count, float value) {
  return Values(static_cast<std::size_t>(count), value);
}

inline bool same_bits(const float* a, const float* b, std::size_t count) {
  return count == 0 || std::memcmp(a, b, count * sizeof(float)) == 0;
}
inline bool same_bits(const Values& a, const Values& b) {
  return a.size() == b.size() && same_bits(a.data(), b.data(), a.size());
}

/// The largest difference, as a part of the largest expected value; infinite where only one is NaN.
inline double difference(const Values& actual, const Values& expected) {
  REQUIRE(actual.size() == expected.size());
  double worst = 0, largest = 1e-30;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(actual[i]) && std::isnan(expected[i])) continue;
    const double gap = std::fabs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
    worst = std::isnan(gap) ? std::numeric_limits<double>::infinity() : std::max(worst, gap);
    largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
  }
  return worst / largest;
}

}  // namespace trainer
