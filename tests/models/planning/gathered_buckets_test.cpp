#include "models/planning/gathered_buckets.h"

#include <catch2/catch.hpp>

#include "engine/parallel/planned_ranks.h"
#include "models/network/network.h"
#include "tests/support/layer_check.h"

namespace trainer {
namespace {

constexpr int kRanks = 4;

struct Gathered {
  std::int64_t most = 0;              ///< in forward and backward
  std::vector<std::int64_t> buckets;  ///< what other ranks have of them, from the last parameter to the first
};

/// `bucket`: floats at which a bucket is closed.
Gathered gathered(const std::string& layers, const Shape& sample, std::int64_t bucket) {
  const ConfigTree yaml = layer_list(layers);
  const Network network(yaml.root().items("layers"), sample, {.batch = 4});
  PlannedRanks ranks({.data = kRanks, .ranks_per_node = 1});
  const ShardPlan shards(ranks.mesh().data(), 0, 1, network.plan().parameter_borders(),
                         {.bucket_floats = bucket});
  Gathered result{.most = gathered_floats(network.layers(), shards)};
  for (std::size_t i = 0; i < shards.buckets().size(); ++i)
    result.buckets.push_back(shards.buckets()[i].count() - shards.my_slice(static_cast<int>(i)).count());
  return result;
}

}  // namespace

TEST_CASE("of a chain of layers the bucket that computes and the next one are gathered", "[planning]") {
  const Gathered one = gathered("dense: 64, dense: 64, dense: 64, dense: 64", {64}, 64 * 64);
  REQUIRE(one.buckets.size() == 4);
  CHECK(one.most == one.buckets[1] + one.buckets[2]);
}

TEST_CASE("a layer whose parameters lie in three buckets has all of them and the next one", "[planning]") {
  // The weights of attention are larger than a bucket each.
  const Gathered one =
      gathered("residual: [attention: 2], layer_norm, residual: [attention: 2]", {8, 32}, 512);
  std::int64_t two = 0;
  for (std::size_t i = 1; i < one.buckets.size(); ++i)
    two = std::max(two, one.buckets[i - 1] + one.buckets[i]);
  CHECK(one.most > two);
}

TEST_CASE("without parameters of other ranks nothing is gathered", "[planning]") {
  CHECK(gathered("relu", {64}, 64).most == 0);
}

}  // namespace trainer
