#include "engine/math/fingerprint.h"

#include <bit>
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "engine/math/square_sum.h"
#include "tests/engine/math/values.h"

namespace trainer {

TEST_CASE("fingerprints of parts add up to that of the whole, wherever it is cut", "[math]") {
  const std::vector<float> values = random_values(5000, 1);
  const std::uint64_t whole = fingerprint(values, 0);
  for (const std::size_t cut : {0, 1, 15, 16, 17, 127, 128, 129, 1023, 1024, 3333, 4990, 5000}) {
    const std::span<const float> all = values;
    CHECK(fingerprint(all.first(cut), 0) + fingerprint(all.subspan(cut), static_cast<std::int64_t>(cut)) ==
          whole);
  }
}

TEST_CASE("a fingerprint changes with every bit of every element, and with the order", "[math]") {
  std::vector<float> values = random_values(1500, 1);
  const std::uint64_t before = fingerprint(values, 0);
  for (std::size_t i = 0; i < values.size(); i += 37)
    for (int bit = 0; bit < 32; ++bit) {
      const float kept = values[i];
      values[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(kept) ^ 1u << bit);
      CHECK(fingerprint(values, 0) != before);
      values[i] = kept;
    }
  std::swap(values[3], values[1400]);
  CHECK(fingerprint(values, 0) != before);
}

TEST_CASE("a fingerprint changes when the same bit of two elements flips", "[math]") {
  std::vector<float> values = random_values(600, 1);
  const std::uint64_t before = fingerprint(values, 0);
  const auto flip = [&](std::size_t i, int bit) {
    values[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(values[i]) ^ 1u << bit);
  };
  for (const int bit : {0, 22, 31})
    for (std::size_t other = 6; other < values.size(); ++other) {
      flip(5, bit);
      flip(other, bit);
      CHECK(fingerprint(values, 0) != before);
      flip(5, bit);
      flip(other, bit);
    }
}

TEST_CASE("a fingerprint changes when two elements of 1,024 change places", "[math]") {
  std::vector<float> values = random_values(1024, 3);
  const std::uint64_t before = fingerprint(values, 0);
  for (std::size_t i = 0; i < values.size(); i += 5)
    for (std::size_t other = 0; other < i; ++other) {
      std::swap(values[i], values[other]);
      CHECK(fingerprint(values, 0) != before);
      std::swap(values[i], values[other]);
    }
}

TEST_CASE("a fingerprint is the sum of the halves of each element times factors of their place", "[math]") {
  const auto factor = [](std::int64_t index, int bit) {
    std::vector<float> one(static_cast<std::size_t>(index) + 1);
    one.back() = std::bit_cast<float>(1u << bit);
    return fingerprint(one, 0);
  };
  const std::vector<float> values = random_values(300, 2);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<std::int32_t>(values[i]);
    const std::int64_t index = static_cast<std::int64_t>(i), lower = static_cast<std::int16_t>(bits),
                       upper = bits >> 16;
    sum += factor(index, 0) * static_cast<std::uint64_t>(lower) +
           factor(index, 16) * static_cast<std::uint64_t>(upper);
  }
  CHECK(fingerprint(values, 0) == sum);
}

TEST_CASE("one pass gives the fingerprint and the largest magnitude, wherever the values begin", "[math]") {
  std::vector<float> values = random_values(1000, 4);
  for (const std::size_t largest : {0, 3, 127, 128, 640, 997, 999}) {
    values[largest] = -1e9f - static_cast<float>(largest) * 1e6f;
    for (const std::int64_t first : {0, 5, 16, 100, 128})
      for (const std::size_t count : {1, 20, 128, 333, 1000}) {
        const std::span<const float> part = std::span(values).first(count);
        const FingerprintAndLargest both = fingerprint_and_largest(part, first);
        CHECK(both.sum == fingerprint(part, first));
        CHECK(both.largest == largest_magnitude(std::ssize(part), part.data()));
      }
  }
}

TEST_CASE("one pass finds a value that is not finite at any place", "[math]") {
  std::vector<float> values = random_values(300, 4);
  for (float& value : values) {
    const float kept = value;
    value = std::numeric_limits<float>::quiet_NaN();
    CHECK_FALSE(is_finite_magnitude(fingerprint_and_largest(values, 7).largest));
    value = -std::numeric_limits<float>::infinity();
    CHECK_FALSE(is_finite_magnitude(fingerprint_and_largest(values, 7).largest));
    value = kept;
  }
}

TEST_CASE("rows have the fingerprints of arrays of their own", "[math]") {
  for (const std::size_t size : {1, 7, 16, 100, 128, 300, 784}) {
    const std::vector<float> values = random_values(static_cast<std::int64_t>(5 * size), 5);
    std::vector<std::uint64_t> sums(5);
    row_fingerprints(values, sums);
    for (std::size_t row = 0; row < sums.size(); ++row)
      CHECK(sums[row] == fingerprint(std::span(values).subspan(row * size, size), 0));
  }
  row_fingerprints({}, {});
}

TEST_CASE("fingerprints are the same on every processor", "[math]") {
  std::vector<float> values(200);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 50;
  CHECK(fingerprint(values, 0) == 0x92e19a045b639d31u);
  CHECK(fingerprint(values, 37) == 0xb6023f006e5a4763u);
}

}  // namespace trainer
