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

TEST_CASE(
    "an exchange takes its bytes over the bandwidth and one latency, as its messages are prepared meanwhile",
    "[planning]") {
  const LinkCost::Time time = kGigabit.exchange(kMegabyte, 4);
  CHECK(time.sender == Approx(3e-6));
  CHECK(time.busy == Approx(0.75 * kMegabyte / 125e6));
  CHECK(time.complete == Approx(1e-6 + time.busy + 100e-6));
}

TEST_CASE("an exchange of short messages takes as long as the sender needs for them", "[planning]") {
  const LinkCost::Time time = kGigabit.exchange(1024, 1024);
  CHECK(time.sender == Approx(1023e-6));
  CHECK(time.complete == Approx(1023e-6 + 1 / 125e6 + 100e-6));
}

TEST_CASE("a processor that handles bytes more slowly than the link carries them delays an exchange",
          "[planning]") {
  LinkCost cost = kGigabit;
  cost.overhead_per_byte = 4e-9;
  CHECK(cost.exchange(kMegabyte, 4).complete == kGigabit.exchange(kMegabyte, 4).complete);
  cost.overhead_per_byte = 16e-9;  // 8 on the link
  CHECK(cost.exchange(kMegabyte, 4).busy == Approx(0.75e6 * 16e-9));
}

TEST_CASE("no collective is faster than its bytes over the bandwidth", "[planning]") {
  for (const double bytes : {1.0, 1e3, 1e6, 1e9})
    for (const int nodes : {2, 3, 4, 16, 1000}) {
      INFO(bytes << " bytes on " << nodes << " nodes");
      const double least = (nodes - 1.0) / nodes * bytes / kGigabit.bandwidth;
      CHECK(kGigabit.exchange(bytes, nodes).busy >= least);
      CHECK(kGigabit.all_reduce(bytes, nodes) >= least);
      CHECK(kGigabit.sum(bytes, nodes, false) >= least);
      CHECK(kGigabit.sum(bytes, nodes, true) > kGigabit.sum(bytes, nodes, false));
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

TEST_CASE("few hosts sum few values in the time of one message, more of either in rounds", "[planning]") {
  CHECK(kGigabit.sum(8, 16, false) == Approx(100e-6 + 15e-6).epsilon(0.01));
  CHECK(kGigabit.sum(8, 17, false) == Approx((4 + 2) * 101e-6).epsilon(0.01));
  CHECK(kGigabit.sum(8, 1024, false) == Approx(10 * 101e-6).epsilon(0.01));
  CHECK(kGigabit.sum(5000, 4, false) == Approx(2 * (101e-6 + 40e-6)));
  CHECK(kGigabit.sum(200'000, 1024, false) > 20 * 1.6e-3);
}

}  // namespace trainer
