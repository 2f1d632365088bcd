#include "models/planning/link_cost.h"

#include <catch2/catch.hpp>

namespace trainer {
namespace {

constexpr double kMegabyte = 1e6;
constexpr LinkCost kGigabit{.latency = 100e-6, .bandwidth = 125e6, .overhead = 1e-6};

}  // namespace

TEST_CASE("one node exchanges nothing", "[planning]") {
  CHECK(kGigabit.exchange(kMegabyte, 1).complete == 0);
  CHECK(kGigabit.all_reduce(kMegabyte, 1) == 0);
}

TEST_CASE("an exchange takes its bytes over the bandwidth, its messages and one latency", "[planning]") {
  const LinkCost::Time time = kGigabit.exchange(kMegabyte, 4);
  CHECK(time.busy == Approx(0.75 * kMegabyte / 125e6 + 3e-6));
  CHECK(time.complete == Approx(time.busy + 100e-6));
}

TEST_CASE("no collective is faster than its bytes over the bandwidth", "[planning]") {
  for (const double bytes : {1.0, 1e3, 1e6, 1e9})
    for (const int nodes : {2, 3, 4, 16, 1000}) {
      INFO(bytes << " bytes on " << nodes << " nodes");
      const double least = (nodes - 1.0) / nodes * bytes / kGigabit.bandwidth;
      CHECK(kGigabit.exchange(bytes, nodes).busy >= least);
      CHECK(kGigabit.all_reduce(bytes, nodes) >= least);
      CHECK(kGigabit.all_reduce(bytes, nodes) >= kGigabit.latency);
    }
}

TEST_CASE("more bandwidth or less latency never makes a collective slower", "[planning]") {
  for (const double bytes : {8.0, 1e5, 1e8})
    for (const int nodes : {2, 7, 256}) {
      LinkCost wide = kGigabit, near = kGigabit;
      wide.bandwidth *= 10;
      near.latency /= 10;
      for (const LinkCost& better : {wide, near}) {
        CHECK(better.exchange(bytes, nodes).complete <= kGigabit.exchange(bytes, nodes).complete);
        CHECK(better.all_reduce(bytes, nodes) <= kGigabit.all_reduce(bytes, nodes));
      }
    }
}

TEST_CASE("an all-reduce of few bytes over many nodes takes the logarithm of their number", "[planning]") {
  CHECK(kGigabit.all_reduce(8, 1024) == Approx(10 * 101e-6).epsilon(0.01));
}

TEST_CASE("an all-reduce of many bytes sends each of them twice", "[planning]") {
  CHECK(kGigabit.all_reduce(1e9, 64) == Approx(2 * 63.0 / 64 * 1e9 / 125e6).epsilon(0.01));
}

}  // namespace trainer
