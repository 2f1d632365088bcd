#include "models/training/balance.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

namespace trainer {
namespace {

using Shares = std::vector<std::int64_t>;

double longest_time(const Shares& shares, const std::vector<double>& speeds) {
  double longest = 0;
  for (std::size_t i = 0; i < shares.size(); ++i)
    longest = std::max(longest, static_cast<double>(shares[i]) / speeds[i]);
  return longest;
}

}  // namespace

TEST_CASE("shares are in proportion to speeds, and parts of which none may be cut go where they end first",
          "[training]") {
  CHECK(balanced_shares(std::vector{3.0, 1.0}, 8, 1) == Shares{6, 2});
  CHECK(balanced_shares(std::vector{100.0, 100.0, 100.0}, 9, 1) == Shares{3, 3, 3});
  CHECK(balanced_shares(std::vector{1.0, 2.0}, 100, 1) == Shares{33, 67});
  CHECK(balanced_shares(std::vector{5.0}, 7, 1) == Shares{7});
}

TEST_CASE("no share is below the least, however slow a rank is", "[training]") {
  CHECK(balanced_shares(std::vector{1000.0, 1.0, 1000.0}, 8, 1) == Shares{4, 1, 3});
  CHECK(balanced_shares(std::vector{1e9, 1.0, 1.0, 1.0}, 4, 1) == Shares{1, 1, 1, 1});
  CHECK(balanced_shares(std::vector{50.0, 1.0}, 8, 2) == Shares{6, 2});
  CHECK(balanced_shares(std::vector{1.9, 1.0, 1.0}, 2, 0) == Shares{1, 1, 0});
}

TEST_CASE("no other division of a few parts ends earlier", "[training]") {
  const std::vector<double> speeds{7.3, 2.9, 1.1};
  constexpr std::int64_t kParts = 13;
  const Shares shares = balanced_shares(speeds, kParts, 1);
  CHECK(std::accumulate(shares.begin(), shares.end(), std::int64_t{0}) == kParts);
  for (std::int64_t first = 1; first < kParts - 1; ++first)
    for (std::int64_t second = 1; first + second < kParts; ++second)
      CHECK(longest_time({first, second, kParts - first - second}, speeds) >= longest_time(shares, speeds));
}

}  // namespace trainer
