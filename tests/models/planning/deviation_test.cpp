#include "models/planning/deviation.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace trainer {

TEST_CASE("the expected maximum has the values of tables, and is none of one value", "[planning]") {
  CHECK(expected_maximum(1) == 0);
  CHECK(expected_maximum(2) == Approx(0.56419).epsilon(1e-4));
  CHECK(expected_maximum(4) == Approx(1.02938).epsilon(1e-4));
  CHECK(expected_maximum(16) == Approx(1.76599).epsilon(1e-4));
  CHECK(expected_maximum(64) == Approx(2.34373).epsilon(1e-4));
  CHECK(expected_maximum(1000) == Approx(3.24144).epsilon(1e-4));
  CHECK(expected_maximum(65536) > expected_maximum(1000));
}

TEST_CASE("the deviation of normal values is the standard one, whatever their scale", "[planning]") {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(10, 0.5);
  std::vector<double> values(4000), thousand_times;
  for (double& value : values) thousand_times.push_back(1000 * (value = normal(random)));
  CHECK(deviation(values) == Approx(0.5).epsilon(0.05));
  CHECK(deviation(thousand_times) == Approx(1000 * deviation(values)));
}

TEST_CASE("equal values and fewer than two have no deviation", "[planning]") {
  CHECK(deviation(std::vector<double>(5, 0.2)) == Approx(0).margin(1e-12));
  CHECK(deviation(std::vector{0.2}) == 0);
  CHECK(deviation({}) == 0);
}

TEST_CASE("two hosts whose steps have rare pauses wait for each other as the deviation states",
          "[planning]") {
  // One of five steps takes 11 in place of 1: the slower of two takes 11 in 9 of 25 cases.
  std::vector<double> values(4000, 1);
  for (std::size_t step = 0; step < values.size(); step += 5) values[step] = 11;
  const double mean = 3, slower_of_two = 1 + 10 * 9.0 / 25;
  CHECK(mean + expected_maximum(2) * deviation(values) == Approx(slower_of_two).epsilon(0.001));
}

}  // namespace trainer
