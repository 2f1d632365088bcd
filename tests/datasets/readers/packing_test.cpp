#include "datasets/readers/packing.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "engine/core/random.h"

namespace trainer {
namespace {

std::vector<std::vector<std::int64_t>> rows_of(const std::vector<std::int64_t>& lengths, std::int64_t room) {
  const Packing packing = pack_documents(lengths, room);
  std::vector<std::vector<std::int64_t>> rows;
  for (std::int64_t row = 0; row < packing.rows(); ++row)
    rows.emplace_back(packing.row(row).begin(), packing.row(row).end());
  return rows;
}

}  // namespace

TEST_CASE("a document goes into the fullest row with room for it, and rows keep the order of the text",
          "[data]") {
  using Rows = std::vector<std::vector<std::int64_t>>;
  CHECK(rows_of({2, 5, 3, 1, 8}, 8) == Rows{{0, 3}, {1, 2}, {4}});
  CHECK(rows_of({8, 8}, 8) == Rows{{0}, {1}});
  CHECK(rows_of({}, 8).empty());
}

TEST_CASE("each document is in one row, no row has too much, and any two rows exceed the room together",
          "[data]") {
  const RandomStream random(1, "lengths");
  std::vector<std::int64_t> lengths;
  for (std::uint64_t i = 0; i < 5000; ++i)
    lengths.push_back(1 + static_cast<std::int64_t>(random.below(i, 30) * random.below(i + 9999, 30)) % 64);
  std::vector<std::int64_t> found, sums;
  for (const std::vector<std::int64_t>& row : rows_of(lengths, 64)) {
    CHECK(std::ranges::is_sorted(row));
    found.insert(found.end(), row.begin(), row.end());
    sums.push_back(0);
    for (const std::int64_t document : row) sums.back() += lengths[document];
  }
  std::ranges::sort(found);
  std::vector<std::int64_t> all(lengths.size());
  std::iota(all.begin(), all.end(), 0);
  CHECK(found == all);
  std::ranges::sort(sums);
  CHECK(sums.back() <= 64);
  REQUIRE(sums.size() > 1);
  CHECK(sums[0] + sums[1] > 64);
}

}  // namespace trainer
