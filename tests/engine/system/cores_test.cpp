#include "engine/system/cores.h"

#include <catch2/catch.hpp>

namespace trainer {
namespace {

/// Cores of one hardware thread each.
std::vector<Core> cores(const std::vector<int>& numbers) { return cores_with(numbers, {}); }

}  // namespace

TEST_CASE("ranks of a host take disjoint cores that cover it", "[core]") {
  const std::vector<Core> host = cores({0, 1, 2, 3, 4, 5, 6});
  std::vector<Core> taken;
  for (int rank = 0; rank < 3; ++rank) {
    const Placement placement = place({.cores = host, .local_rank = rank, .local_ranks = 3});
    CHECK(placement.threads == 2);
    CHECK_FALSE(placement.oversubscribed);
    taken.insert(taken.end(), placement.cores.begin(), placement.cores.end());
  }
  CHECK(taken == host);
}

TEST_CASE("more ranks than cores have one thread each and as many neighbours on every core", "[core]") {
  for (int rank = 0; rank < 4; ++rank) {
    const Placement placement = place({.cores = cores({2, 5}), .local_rank = rank, .local_ranks = 4});
    CHECK(placement.cores == cores({rank < 2 ? 2 : 5}));
    CHECK(placement.threads == 1);
    CHECK(placement.oversubscribed);
  }
}

TEST_CASE("of three ranks on two cores the middle one may use both", "[core]") {
  CHECK(place({.cores = cores({0, 1}), .local_rank = 0, .local_ranks = 3}).cores == cores({0}));
  CHECK(place({.cores = cores({0, 1}), .local_rank = 1, .local_ranks = 3}).cores == cores({0, 1}));
  CHECK(place({.cores = cores({0, 1}), .local_rank = 2, .local_ranks = 3}).cores == cores({1}));
}

TEST_CASE("a thread count that was asked for wins over the default", "[core]") {
  const Placement placement = place({.cores = cores({0, 1, 2, 3}), .local_ranks = 2, .threads = 1});
  CHECK(placement.threads == 1);
  CHECK(placement.cores == cores({0, 1}));
}

TEST_CASE("a binding that the user chose is kept", "[core]") {
  const Placement placement =
      place({.cores = cores({6, 7}), .local_rank = 1, .local_ranks = 4, .bound = true});
  CHECK(placement.cores == cores({6, 7}));
  CHECK(placement.threads == 2);
  CHECK_FALSE(placement.oversubscribed);
}

TEST_CASE("under a quota ranks count what they are granted and may run on every core", "[core]") {
  const std::vector<Core> host = cores({0, 1, 2, 3, 4, 5, 6, 7});
  const Placement placement = place({.cores = host, .granted = 4, .local_rank = 1, .local_ranks = 2});
  CHECK(placement.threads == 2);
  CHECK(placement.cores == host);
  CHECK_FALSE(placement.oversubscribed);
  CHECK(place({.cores = host, .granted = 4, .local_ranks = 8}).oversubscribed);
}

TEST_CASE("at least one core is granted, and no more than there are", "[core]") {
  CHECK(granted_cores(cores({3})) == 1);
  const int granted = granted_cores(usable_cores());
  CHECK(granted >= 1);
  CHECK(granted <= static_cast<int>(usable_cores().size()));
}

TEST_CASE("this process may use at least one core", "[core]") { CHECK_FALSE(usable_cores().empty()); }

}  // namespace trainer
