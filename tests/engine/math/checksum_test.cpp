#include "engine/math/checksum.h"

#include <bit>
#include <set>

#include "tests/engine/math/values.h"

using namespace trainer;

TEST_CASE("every single flipped bit changes the checksum, at every length", "[checksum]") {
  const std::int64_t count = GENERATE(1, 2, 63, 64, 65, 200);
  Values values = random_values(count, 1);
  const std::uint64_t whole = checksum(values);
  for (float& value : values)
    for (int bit = 0; bit < 32; ++bit) {
      const float kept = value;
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1u << bit);
      if (checksum(values) == whole) FAIL("bit " << bit << " of " << count << " values");
      value = kept;
    }
  CHECK(checksum(values) == whole);
}

TEST_CASE("every single flipped bit changes the bit sum, at every length", "[checksum]") {
  const std::int64_t count = GENERATE(1, 63, 64, 65, 200);
  Values values = random_values(count, 1);
  std::uint32_t expected = 0;
  for (const float value : values) expected ^= std::bit_cast<std::uint32_t>(value);
  CHECK(bit_sum(values) == expected);
  for (float& value : values)
    for (int bit = 0; bit < 32; ++bit) {
      const float kept = value;
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1u << bit);
      if (bit_sum(values) != (expected ^ 1u << bit)) FAIL("bit " << bit << " of " << count << " values");
      value = kept;
    }
}

TEST_CASE("checksums are the same on every processor", "[checksum]") {
  CHECK(checksum({}) == 0);
  Values values(200);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 50;
  CHECK(checksum(values) == 0x84cb477d0b060000u);
}

TEST_CASE("neighbours have checksums and mixed keys far apart", "[checksum]") {
  std::set<std::uint64_t> sums;
  for (std::uint64_t i = 0; i < 10'000; ++i) sums.insert(mixed(i) >> 40);
  CHECK(sums.size() > 9'900);
}
