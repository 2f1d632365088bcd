#include "engine/core/bfloat16.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/core/random.h"

namespace trainer {
namespace {

/// By the definition, in double: the nearer of the two neighbours, of equally near ones the even.
float nearest(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const Bfloat16 below{static_cast<std::uint16_t>(bits >> 16)};
  const Bfloat16 above{static_cast<std::uint16_t>((bits >> 16) + 1)};
  // Beyond the largest finite value the next one would be 2^128.
  const double low = to_float(below),
               high = std::isinf(to_float(above)) ? std::copysign(0x1p128, value) : to_float(above);
  const double down = std::abs(value - low), up = std::abs(high - value);
  if (down != up) return to_float(down < up ? below : above);
  return to_float(below.bits % 2 == 0 ? below : above);
}

}  // namespace

TEST_CASE("a float becomes the nearest bfloat16, and of two equally near ones the even", "[parallel]") {
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper)
    for (const std::uint32_t lower : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      const auto value = std::bit_cast<float>(upper << 16 | lower);
      if (!std::isfinite(value)) continue;
      if (rounded_to_bfloat16(value) != nearest(value)) {
        CAPTURE(value);
        REQUIRE(rounded_to_bfloat16(value) == nearest(value));
      }
      if (std::abs(value) >= std::numeric_limits<float>::min() && std::abs(value) < 0x1.fep127f)
        REQUIRE(std::abs(rounded_to_bfloat16(value) - value) <= kBfloat16Error * std::abs(value));
    }
}

TEST_CASE("values that are not finite stay so as bfloat16, and signs of zero stay", "[parallel]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK(rounded_to_bfloat16(kInfinity) == kInfinity);
  CHECK(rounded_to_bfloat16(-kInfinity) == -kInfinity);
  CHECK(rounded_to_bfloat16(std::numeric_limits<float>::max()) == kInfinity);
  CHECK(std::signbit(rounded_to_bfloat16(-0.0f)));
  for (const std::uint32_t bits : {0x7f800001U, 0x7fffffffU, 0xffc00000U, 0xff800001U})
    CHECK(std::isnan(rounded_to_bfloat16(std::bit_cast<float>(bits))));
}

TEST_CASE("arrays are converted, added and rounded element by element", "[parallel]") {
  std::vector<float> values(1003), sums(values.size(), 0.25f);
  RandomStream(1, "values", 0).fill_uniform(0, values);
  std::vector<Bfloat16> narrow(values.size());
  to_bfloat16(values, narrow);
  add(narrow, sums);
  std::vector<float> wide(values.size()), rounded = values;
  to_float(narrow, wide);
  round_to_bfloat16(rounded);
  CHECK(wide == rounded);
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(wide[i] == rounded_to_bfloat16(values[i]));
    CHECK(sums[i] == 0.25f + wide[i]);
  }
}

TEST_CASE("a rounded change is a bfloat16, and added to what was before gives the values", "[parallel]") {
  std::vector<float> before(1003), values(before.size()), changes(before.size());
  RandomStream(1, "before", 0).fill_uniform(0, before);
  RandomStream(2, "after", 0).fill_uniform(0, values);
  const std::vector<float> exact = values;
  round_changes(before, values, changes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(changes[i] == rounded_to_bfloat16(changes[i]));
    CHECK(values[i] == before[i] + changes[i]);
    CHECK(std::abs(values[i] - exact[i]) <= 1.01f * kBfloat16Error * std::abs(exact[i] - before[i]) + 1e-7f);
  }
}

}  // namespace trainer
