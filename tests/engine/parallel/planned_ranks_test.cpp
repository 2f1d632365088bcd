#include "engine/parallel/planned_ranks.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "engine/parallel/shard_plan.h"

namespace trainer {

TEST_CASE("a planned mesh has the groups of a mesh that runs", "[parallel]") {
  const PlannedRanks ranks({.data = 4, .model = 2, .ranks_per_node = 4});
  CHECK(ranks.mesh().world().size() == 8);
  CHECK(ranks.mesh().data().size() == 4);
  CHECK(ranks.mesh().model().size() == 2);
  CHECK(ranks.mesh().node().size() == 2);
  CHECK(ranks.mesh().nodes() == 2);
  CHECK(ranks.nodes() == 2);
  CHECK(ranks.nodes_of_model() == 1);
}

TEST_CASE("planned ranks share one host unless their number on a host is given", "[parallel]") {
  CHECK(PlannedRanks({.data = 6}).nodes() == 1);
  const PlannedRanks spread({.data = 2, .model = 4, .ranks_per_node = 2});
  CHECK(spread.nodes() == 4);
  CHECK(spread.nodes_of_model() == 2);
  CHECK(spread.mesh().nodes() == 2);
}

TEST_CASE("hosts of unequal ranks cannot be planned", "[parallel]") {
  CHECK_THROWS_AS(PlannedRanks({.data = 5, .ranks_per_node = 2}), Error);
  CHECK_THROWS_AS(PlannedRanks({.data = 4, .model = 3, .ranks_per_node = 2}), Error);
}

TEST_CASE("shards of planned ranks partition the flat buffer over all data ranks", "[parallel]") {
  const PlannedRanks ranks({.data = 8, .ranks_per_node = 2});
  const ShardPlan shards(ranks.mesh().data(), 0, ranks.mesh().node().size(), {0, 800'000}, {});
  CHECK(shards.several_nodes());
  CHECK_FALSE(shards.one_rank_per_node());
  CHECK(shards.nodes() == 4);
  std::int64_t mine = 0;
  for (const Range& range : shards.shard()) mine += range.count();
  CHECK(mine == 100'000);
}

TEST_CASE("a planned rank that communicates is a mistake of the program", "[parallel]") {
  const PlannedRanks ranks({.data = 2});
  CHECK_THROWS_AS(ranks.mesh().data().barrier(), std::logic_error);
}

}  // namespace trainer
