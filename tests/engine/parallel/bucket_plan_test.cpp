#include "engine/parallel/bucket_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>

namespace trainer {

TEST_CASE("buckets cover the flat buffer from its end, and end at parameter borders", "[parallel]") {
  const std::vector<std::int64_t> borders{0, 100, 130, 130, 1000, 1010};
  const std::int64_t bucket_floats = GENERATE(1, 20, 100, 900, 5000);
  const std::vector<Range> buckets = plan_buckets(borders, bucket_floats);
  std::int64_t last = 1010;
  for (const Range& bucket : buckets) {
    CHECK(bucket.last == last);
    CHECK(std::ranges::count(borders, bucket.first) > 0);
    CHECK((bucket.count() >= bucket_floats || bucket.first == 0));
    last = bucket.first;
  }
  CHECK(last == 0);
}

TEST_CASE("cuts leave the borders, and no two borders further apart than a bucket may be", "[parallel]") {
  const std::vector<std::int64_t> borders{0, 100, 130, 130, 1000, 1010};
  const std::int64_t most = GENERATE(40, 100, 500, 5000);
  const std::vector<std::int64_t> all = with_cuts(borders, most);
  CHECK(std::ranges::is_sorted(all));
  CHECK(std::ranges::includes(all, borders));
  for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i] - all[i - 1] <= most + kSliceQuantum);
  CHECK(with_cuts(borders, 5000) == borders);
}

TEST_CASE("a model without parameters has no buckets", "[parallel]") { CHECK(plan_buckets({0}, 10).empty()); }

TEST_CASE("borders that do not ascend from 0 are refused", "[parallel]") {
  CHECK_THROWS_AS(plan_buckets({}, 1), std::logic_error);
  CHECK_THROWS_AS(plan_buckets({1, 5}, 1), std::logic_error);
  CHECK_THROWS_AS(plan_buckets({0, 5, 4}, 1), std::logic_error);
}

TEST_CASE("no other number of buckets takes less time than those of the best size", "[parallel]") {
  const std::int64_t floats = GENERATE(1, 1000, 300'000, 25'000'000);
  const int nodes = GENERATE(2, 16, 1024);
  const NetworkLink link;
  const auto seconds = [&](double bucket) {
    return static_cast<double>(floats) / bucket * (link.latency + (nodes - 1) * link.overhead) +
           bucket * 4 / link.bandwidth;
  };
  const auto best = static_cast<double>(best_bucket(floats, nodes, link));
  for (const double factor : {0.25, 0.5, 0.9, 1.1, 2.0, 4.0}) {
    CAPTURE(floats, nodes, best, factor);
    CHECK(seconds(best) <= seconds(best * factor));
  }
  CHECK(best_bucket(0, nodes, link) == 1);
}

TEST_CASE("more nodes have larger buckets, because each bucket takes a message to each of them",
          "[parallel]") {
  const std::int64_t floats = 25'000'000;
  CHECK(best_bucket(floats, 1024, {}) > 6 * best_bucket(floats, 2, {}));
}

TEST_CASE("slices cover a range once, are cut at cache lines and differ by two lines at most", "[parallel]") {
  const std::int64_t first = GENERATE(0, 7, 16, 1000);
  const std::int64_t size = GENERATE(0, 1, 15, 16, 17, 1000, 123457);
  const int parts = GENERATE(1, 2, 3, 4, 7, 64);
  const Range whole{first, first + size};
  std::int64_t position = whole.first;
  for (int part = 0; part < parts; ++part) {
    const Range mine = slice(whole, part, parts);
    CHECK(mine.first == position);
    CHECK(mine.count() <= size / parts + 2 * kSliceQuantum);
    CHECK((mine.last % kSliceQuantum == 0 || mine.last == whole.last || mine.last == whole.first));
    position = mine.last;
  }
  CHECK(position == whole.last);
}

TEST_CASE("slices of whole parameters cover a range once, and end at borders near those of slices",
          "[parallel]") {
  const std::vector<std::int64_t> borders{0, 16, 48, 48, 1000, 1100, 1200, 1300, 5000};
  const auto [first, last] = GENERATE(table<std::int64_t, std::int64_t>({{0, 5000}, {16, 1300}, {48, 48}}));
  const Range whole{first, last};
  const int parts = GENERATE(1, 2, 3, 9);
  std::int64_t position = whole.first;
  for (int part = 0; part < parts; ++part) {
    const Range mine = slice_of_parameters(borders, whole, part, parts);
    CHECK(mine.first == position);
    CHECK(std::ranges::count(borders, mine.last) > 0);
    position = mine.last;
  }
  CHECK(position == whole.last);
  CHECK(slice_of_parameters(borders, {0, 1300}, 0, 2) == Range{0, 1000});
  CHECK(slice_of_parameters(borders, {0, 5000}, 0, 2) == Range{0, 1300});
}

}  // namespace trainer
