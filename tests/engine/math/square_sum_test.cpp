#include "engine/math/square_sum.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/core/random.h"

namespace trainer {
namespace {

/// Values of many magnitudes.
std::vector<float> rough_values(std::size_t count, float scale) {
  std::vector<float> values(count);
  RandomStream(4, "values").fill_uniform(0, values);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = (values[i] - 0.5f) * scale * std::ldexp(1.0f, -static_cast<int>(i * 7 % 40));
  return values;
}

double norm(const std::vector<float>& values, std::size_t parts) {
  const auto count = static_cast<std::int64_t>(values.size());
  const std::uint32_t largest = largest_magnitude(count, values.data());
  double high = 0, low = 0;
  const SquareSum unit(largest);
  for (std::size_t part = parts; part-- > 0;) {
    const std::size_t first = values.size() * part / parts, last = values.size() * (part + 1) / parts;
    SquareSum sum(largest);
    sum.add(static_cast<std::int64_t>(last - first), values.data() + first);
    high += sum.high();
    low += sum.low();
  }
  return unit.root(high, low);
}

}  // namespace

TEST_CASE("a norm is right to the digits of double, from denormal values to the largest", "[math]") {
  for (const float scale : {1.0f, 1e-38f, 1e38f}) {
    const std::vector<float> values = rough_values(100'000, scale);
    long double expected = 0;
    for (const float value : values)
      expected += static_cast<long double>(value) * static_cast<long double>(value);
    CHECK(norm(values, 1) == Approx(static_cast<double>(std::sqrt(expected))).epsilon(1e-14));
  }
  CHECK(norm(std::vector<float>(10), 1) == 0);
  CHECK(norm({}, 1) == 0);
  CHECK(norm(std::vector<float>(1'000'000, 3.0f), 1) == 3000);
}

TEST_CASE("a norm has the same bits however the values are cut and ordered", "[math]") {
  std::vector<float> values = rough_values(50'001, 10);
  const double expected = norm(values, 1);
  for (const std::size_t parts : {2U, 3U, 7U, 1000U}) CHECK(norm(values, parts) == expected);
  std::ranges::reverse(values);
  CHECK(norm(values, 5) == expected);
}

TEST_CASE("the largest magnitude is finite unless a value is infinite or NaN, wherever they are", "[math]") {
  std::vector<float> values = rough_values(99, 1e38f);
  const auto largest = [&] { return largest_magnitude(std::ssize(values), values.data()); };
  CHECK(is_finite_magnitude(largest()));
  for (const float strange : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()})
    for (const std::size_t place : {0U, 50U, 98U}) {
      const float before = std::exchange(values[place], strange);
      CHECK_FALSE(is_finite_magnitude(largest()));
      values[place] = before;
    }
}

}  // namespace trainer
