#include "engine/math/checksum.h"

#include <bit>
#include <set>

#include "tests/engine/math/numbers.h"

using namespace trainer;

TEST_CASE("every single flipped bit changes the checksum, at every length", "[checksum]") {
  const std::int64_t count = GENERATE(1, 2, 63, 64, 65, 200);
  Numbers numbers = random_numbers(count, 1);
  const std::uint64_t whole = checksum(numbers);
  for (float& number : numbers)
    for (int bit = 0; bit < 32; ++bit) {
      const float kept = number;
      number = std::bit_cast<float>(std::bit_cast<std::uint32_t>(number) ^ 1u << bit);
      if (checksum(numbers) == whole) FAIL("bit " << bit << " of " << count << " numbers");
      number = kept;
    }
  CHECK(checksum(numbers) == whole);
}

TEST_CASE("every single flipped bit changes the bit sum, at every length", "[checksum]") {
  const std::int64_t count = GENERATE(1, 63, 64, 65, 200);
  Numbers numbers = random_numbers(count, 1);
  std::uint32_t expected = 0;
  for (const float number : numbers) expected ^= std::bit_cast<std::uint32_t>(number);
  CHECK(bit_sum(numbers) == expected);
  for (float& number : numbers)
    for (int bit = 0; bit < 32; ++bit) {
      const float kept = number;
      number = std::bit_cast<float>(std::bit_cast<std::uint32_t>(number) ^ 1u << bit);
      if (bit_sum(numbers) != (expected ^ 1u << bit)) FAIL("bit " << bit << " of " << count << " numbers");
      number = kept;
    }
}

TEST_CASE("checksums are the same on every processor", "[checksum]") {
  CHECK(checksum({}) == 0);
  Numbers numbers(200);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i) - 50;
  CHECK(checksum(numbers) == 0x84cb477d0b060000u);
}

TEST_CASE("neighbours have checksums and mixed keys far apart", "[checksum]") {
  std::set<std::uint64_t> sums;
  for (std::uint64_t i = 0; i < 10'000; ++i) sums.insert(mixed(i) >> 40);
  CHECK(sums.size() > 9'900);
}
