#include "models/network/shard.h"

#include <catch2/catch.hpp>
#include <numeric>

namespace trainer {
namespace {

TEST_CASE("shards taken from a whole and placed again make it up", "[network]") {
  const int axis = GENERATE(0, 1, 2);
  const Shape shape{4, 5, 6};
  std::vector<float> whole(static_cast<std::size_t>(shape.size()));
  std::iota(whole.begin(), whole.end(), 0.0f);
  std::vector<float> rebuilt(whole.size(), -1.0f);
  for (const auto& [first, last] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {1, 3}, {3, shape[axis]}}) {
    std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
    extents[static_cast<std::size_t>(axis)] = last - first;
    const Parameter shard{.shape = Shape(extents), .shard_axis = axis, .shard_first = first, .whole = shape};
    std::vector<float> part(static_cast<std::size_t>(shard.shape.size()));
    take_shard(shard, whole, part);
    CHECK(part.front() == static_cast<float>(axis == 0 ? first * 30 : axis == 1 ? first * 6 : first));
    place_shard(shard, part, rebuilt);
  }
  CHECK(rebuilt == whole);
}

TEST_CASE("shards of an axis of several groups have the same indices of each", "[network]") {
  // Queries, keys and values of four features each.
  std::vector<float> whole(2 * 12), rebuilt(whole.size(), -1.0f);
  std::iota(whole.begin(), whole.end(), 0.0f);
  for (const auto& [first, last] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {1, 4}}) {
    const Parameter shard{.shape = {2, 3 * (last - first)},
                          .shard_axis = 1,
                          .shard_groups = {1, 1, 1},
                          .shard_first = first,
                          .whole = Shape{2, 12}};
    std::vector<float> part(static_cast<std::size_t>(shard.shape.size()));
    take_shard(shard, whole, part);
    if (first == 0) CHECK(part == std::vector<float>{0, 4, 8, 12, 16, 20});
    place_shard(shard, part, rebuilt);
  }
  CHECK(rebuilt == whole);
}

TEST_CASE("groups of several lengths give a shard as many times more indices", "[network]") {
  // Of each input eight features of queries, four of keys, four of values; two of keys on each rank.
  std::vector<float> whole(16 * 2), rebuilt(whole.size(), -1.0f);
  std::iota(whole.begin(), whole.end(), 0.0f);
  for (const std::int64_t first : {0, 2}) {
    const Parameter shard{.shape = {8, 2},
                          .shard_axis = 0,
                          .shard_groups = {2, 1, 1},
                          .shard_first = first,
                          .whole = Shape{16, 2}};
    std::vector<float> part(16);
    take_shard(shard, whole, part);
    if (first == 2)
      CHECK(part == std::vector<float>{8, 9, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31});
    place_shard(shard, part, rebuilt);
  }
  CHECK(rebuilt == whole);
}

TEST_CASE("a parameter that is not cut is its own shard", "[network]") {
  const Parameter parameter{.shape = {3}};
  std::vector<float> part(3);
  take_shard(parameter, std::vector<float>{1, 2, 3}, part);
  CHECK(part == std::vector<float>{1, 2, 3});
}

TEST_CASE("a run of elements ends with the shard's columns, and with the shard when nothing is cut",
          "[network]") {
  const Parameter cut{.shape = {4, 3}, .shard_axis = 1, .shard_first = 3, .whole = Shape{4, 6}};
  CHECK(run_at(cut, 4).whole == 10);
  CHECK(run_at(cut, 4).count == 2);
  const Parameter whole{.shape = {4, 6}, .shard_axis = 1, .whole = Shape{4, 6}};
  CHECK(run_at(whole, 4).whole == 4);
  CHECK(run_at(whole, 4).count == 20);
}

}  // namespace
}  // namespace trainer
