#include "cli/terminal/quantities.h"

#include <catch2/catch.hpp>

#include "engine/core/error.h"

namespace trainer {

TEST_CASE("a link has a bandwidth, a latency and perhaps the cost of a message", "[cli]") {
  const LinkCost link = link_of("10Gbps,20us");
  CHECK(link.bandwidth == Approx(1.25e9));
  CHECK(link.latency == Approx(20e-6));
  CHECK(link.overhead == LinkCost{}.overhead);
  CHECK(link.overhead_per_byte == 0);
  CHECK(link_of("2.5Mbps,1ms,500ns").overhead == Approx(500e-9));
  CHECK(link_of("1Gbps,1ms,1us,2.5ms").overhead_per_byte == Approx(2.5e-9));
}

TEST_CASE("a link without its unit or latency is a mistake", "[cli]") {
  for (const char* text : {"", "10", "10Gbps", "10Gbps,", "10Gbps,20", "10Gbps,20us,", "0Gbps,20us",
                           "-1Gbps,20us", "10Gbps,20us,1us,1us,1us", "10Gbps,20us,1us,", "10Gbps,20us,1us,1",
                           "1e9bps,20us", "infGbps,20us", "nanGbps,1us", "10Gbps,20us x"})
    CHECK_THROWS_AS(link_of(text), Error);
}

TEST_CASE("a size of memory has a binary or a decimal unit", "[cli]") {
  CHECK(memory_of("16GiB") == std::int64_t{16} << 30);
  CHECK(memory_of("1.5GB") == 1'500'000'000);
  for (const char* text : {"", "16", "GiB", "0GiB", "-1GiB", "9999999999TiB"})
    CHECK_THROWS_AS(memory_of(text), Error);
}

TEST_CASE("a live page has a port, and a host if others may see it", "[cli]") {
  CHECK(live_address("8090").host == "127.0.0.1");
  CHECK(live_address("8090").port == 8090);
  CHECK(live_address("0.0.0.0:0").host == "0.0.0.0");
  CHECK(live_address("[::1]:80").host == "::1");
  for (const char* text : {"", "x", "-1", "65536", "80 ", ":80", "[]:80", "localhost", "localhost:", "1e3"})
    CHECK_THROWS_AS(live_address(text), Error);
}

TEST_CASE("dots continue numbers of ranks by factor, else by difference", "[cli]") {
  using Counts = std::vector<int>;
  CHECK(rank_counts_of("1,2,4,...,32", false) == Counts{1, 2, 4, 8, 16, 32});
  CHECK(rank_counts_of("2,4,...,8,9", false) == Counts{2, 4, 8, 9});
  CHECK(rank_counts_of("4,8,...,20", false) == Counts{4, 8, 12, 16, 20});
  CHECK(rank_counts_of("7", true) == Counts{7});
}

TEST_CASE("numbers of ranks that do not ascend, or dots that lead nowhere, are mistakes", "[cli]") {
  for (const char* text : {"", "0", "x", "2,1", "1,1", "1,...,8", "1,2,...", "1,2,...,...,8", "...,8",
                           "2,4,...,7", "65537", "1,2,...,60000"})
    CHECK_THROWS_AS(rank_counts_of(text, false), Error);
  CHECK_THROWS_AS(rank_counts_of("1,2", true), Error);
}

}  // namespace trainer
