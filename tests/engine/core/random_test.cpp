#include "engine/core/random.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

namespace trainer {

TEST_CASE("philox gives the known answers of Random123", "[core]") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) ==
        std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a slice of uniform numbers equals the same numbers asked for one by one", "[core]") {
  const RandomStream stream(7, "dropout", 3);
  std::vector<float> numbers(37);
  stream.fill_uniform(5, numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(numbers[i] == stream.uniform(5 + i));
}

TEST_CASE("seed, purpose and moment each give other numbers", "[core]") {
  const std::uint32_t bits = RandomStream(1, "a", 0).bits(9);
  CHECK(RandomStream(2, "a", 0).bits(9) != bits);
  CHECK(RandomStream(1, "b", 0).bits(9) != bits);
  CHECK(RandomStream(1, "a", 1).bits(9) != bits);
}

TEST_CASE("normal numbers have mean 0 and variance 1", "[core]") {
  const RandomStream stream(1, "normal");
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double x = stream.normal(i);
    sum += x;
    squares += x * x;
  }
  CHECK(std::abs(sum / kCount) < 0.01);
  CHECK(std::abs(squares / kCount - 1) < 0.02);
}

TEST_CASE("a permutation holds every number once and depends on the stream", "[core]") {
  const auto order = permutation(1000, RandomStream(1, "order", 0));
  CHECK(order != permutation(1000, RandomStream(1, "order", 1)));
  auto sorted = order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) REQUIRE(sorted[i] == static_cast<std::int64_t>(i));
  CHECK(sorted != order);
}

}  // namespace trainer
