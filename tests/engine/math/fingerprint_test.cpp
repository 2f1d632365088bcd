#include "engine/math/fingerprint.h"

#include <bit>
#include <catch2/catch.hpp>
#include <vector>

#include "tests/engine/math/values.h"

namespace trainer {

TEST_CASE("fingerprints of parts add up to that of the whole, wherever it is cut", "[math]") {
  const std::vector<float> values = random_values(5000, 1);
  const std::uint64_t whole = fingerprint(values, 0);
  for (const std::size_t cut : {0, 1, 7, 1023, 1024, 1025, 3333, 5000}) {
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

}  // namespace trainer
