#include "models/planning/deviation.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <vector>

namespace trainer {

TEST_CASE("the expected maximum of normal values is the mean of simulated maxima", "[planning]") {
  constexpr int kTrials = 2000;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (const int n : {2, 4, 16, 64, 1024}) {
    double sum = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      double most = -std::numeric_limits<double>::infinity();
      for (int value = 0; value < n; ++value) most = std::max(most, normal(random));
      sum += most;
    }
    INFO(n << " values");
    CHECK(expected_maximum(n) == Approx(sum / kTrials).margin(0.07));
  }
}

TEST_CASE("the expected maximum has the values of tables, and is none of one value", "[planning]") {
  CHECK(expected_maximum(1) == Approx(0).margin(1e-9));
  CHECK(expected_maximum(2) == Approx(0.56419).epsilon(1e-4));
  CHECK(expected_maximum(4) == Approx(1.02938).epsilon(1e-4));
  CHECK(expected_maximum(1000) == Approx(3.24144).epsilon(1e-4));
  CHECK(expected_maximum(65536) > expected_maximum(1000));
}

TEST_CASE("the deviation of normal values is the standard one, whatever their scale", "[planning]") {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(10, 0.5);
  std::vector<double> values(4000), thousand_times;
  for (double& value : values) thousand_times.push_back(1000 * (value = normal(random)));
  CHECK(relative_deviation(values) == Approx(0.05).epsilon(0.05));
  CHECK(relative_deviation(thousand_times) == Approx(relative_deviation(values)));
}

TEST_CASE("equal values and fewer than two have no deviation", "[planning]") {
  CHECK(relative_deviation(std::vector<double>(5, 0.2)) == Approx(0).margin(1e-12));
  CHECK(relative_deviation(std::vector{0.2}) == 0);
  CHECK(relative_deviation({}) == 0);
}

TEST_CASE("two hosts whose steps have rare pauses wait for each other as the deviation states",
          "[planning]") {
  // One of five steps takes 11 in place of 1: the slower of two takes 11 in 9 of 25 cases.
  std::vector<double> values(4000, 1);
  for (std::size_t step = 0; step < values.size(); step += 5) values[step] = 11;
  const double mean = 3, slower_of_two = 1 + 10 * 9.0 / 25;
  CHECK(mean * (1 + expected_maximum(2) * relative_deviation(values)) ==
        Approx(slower_of_two).epsilon(0.001));
}

}  // namespace trainer
