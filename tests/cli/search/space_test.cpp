#include "cli/search/space.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "cli/reports/rate_chart.h"
#include "cli/search/draw.h"
#include "cli/search/range_test.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

Space space(const std::string& setting) { return Space::parse(setting).value(); }

std::string mistake(const std::string& setting) {
  try {
    Space::parse(setting);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK(error.diagnostics().front().place == "-s " + setting);
    return error.diagnostics().front().what;
  }
  return "none";
}

}  // namespace

TEST_CASE("only a list and the three ranges are spaces", "[search]") {
  for (const char* one : {"a=1", "a=relu", "a={b: [1,2]}", "a=logistic", "a=", "a"})
    CHECK_FALSE(Space::parse(one));
  CHECK(space("a.b=[1, {c: [2,3]}, 'x,y']").points() == std::vector<std::string>{"1", "{c: [2,3]}", "'x,y'"});
  CHECK(space("units=int(3,5)").points() == std::vector<std::string>{"3", "4", "5"});
  CHECK(space("lr=log(1e-3,1e-1,3)").points() == std::vector<std::string>{"0.001", "0.01", "0.1"});
  CHECK(space("p=uniform(0,0.5,3)").points() == std::vector<std::string>{"0", "0.25", "0.5"});
  CHECK(space("lr=log(1e-3,1e-1)").points().empty());
}

TEST_CASE("a space that cannot be is a mistake that names its setting", "[search]") {
  CHECK(mistake("a=[1,2") == "`[1,2` is not a list of values");
  CHECK(mistake("a=[1,,2]") == "`[1,,2]` is not a list of values");
  CHECK(mistake("a=log(0,1)") == "the bounds of log must be above 0");
  CHECK(mistake("a=log(1,0.1)") == "the low bound of log is not below the high one");
  CHECK(mistake("a=uniform(1)") == "uniform expects a low and a high bound");
  CHECK(mistake("a=uniform(x,1)") == "uniform expects numbers, got `x`");
  CHECK(mistake("a=int(1,2.5)") == "the bounds of int must be whole numbers");
  CHECK(mistake("a=int(1,1e9)") == "int spans more than 100000 numbers");
  CHECK(mistake("a=log(1,2,1)") == "log expects 2 points or more, got `1`");
  CHECK(mistake("a=log(1,2") == "`log(1,2` is not closed");
}

TEST_CASE("values stay within their range, in few digits, and a log range has as many in each decade",
          "[search]") {
  const Space lr = space("lr=log(1e-4,1)"), narrow = space("p=uniform(0.9990,0.9999)");
  int below = 0;
  std::set<std::string> values;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = lr.at(i / 1000.0), close = narrow.at(i / 1000.0);
    const double value = std::stod(text);
    CHECK((value >= 1e-4 && value <= 1));
    CHECK((std::stod(close) >= 0.9990 && std::stod(close) <= 0.9999));
    CHECK(text.size() <= 8);
    below += value < 1e-2 ? 1 : 0;
    values.insert(close);
    CHECK(lr.place_of(text) == Approx(i / 1000.0).margin(2e-3));
  }
  CHECK(std::abs(below - 500) < 5);
  CHECK(values.size() > 300);
}

TEST_CASE("the bounds of int end within 2^53", "[search]") {
  CHECK(space("seed=int(9007199254740989,9007199254740991)").points().back() == "9007199254740991");
  CHECK(mistake("seed=int(9007199254740990,9007199254740992)") ==
        "the bounds of int must be from -9007199254740991 to 9007199254740991");
  CHECK(mistake("seed=int(-9007199254740992,0)") ==
        "the bounds of int must be from -9007199254740991 to 9007199254740991");
}

TEST_CASE("a random trial is a function of the seed and its number; the seed changes it", "[search]") {
  const std::vector<Space> spaces{space("lr=log(1e-4,1)"), space("units=[10,20,30]")};
  const auto few = random_trials(spaces, 5, 1), many = random_trials(spaces, 50, 1);
  CHECK(std::equal(few.begin(), few.end(), many.begin()));
  CHECK(random_trials(spaces, 5, 2) != few);
}

TEST_CASE("random trials of finite spaces repeat no combination and end when there is no other", "[search]") {
  const std::vector<Space> spaces{space("a=[1,2,3]"), space("b=int(1,4)")};
  const auto trials = random_trials(spaces, 100, 1);
  CHECK(trials.size() == 12);
  CHECK(std::set<TrialValues>(trials.begin(), trials.end()).size() == 12);
  const auto grid = grid_trials(spaces);
  CHECK(std::set<TrialValues>(grid.begin(), grid.end()) ==
        std::set<TrialValues>(trials.begin(), trials.end()));
  CHECK(grid[1] == TrialValues{"1", "2"});
  CHECK_THROWS_AS(grid_trials({space("lr=log(1,2)")}), Error);
}

TEST_CASE("a third of the trials continues after each rung, and the last rung is the whole run", "[search]") {
  const std::vector<Rung> rungs = halving_rungs(20);
  REQUIRE(rungs.size() == 3);
  CHECK(rungs[0].trials == 20);
  CHECK(rungs[1].trials == 6);
  CHECK(rungs[2].trials == 2);
  CHECK(rungs[0].share == Approx(1.0 / 9));
  CHECK(rungs[2].share == 1);
  CHECK(halving_rungs(1).size() == 1);
}

TEST_CASE("keys are shortened as far as they stay different", "[search]") {
  CHECK(short_names(
            {"train.optimizer.sgd.lr", "model.layers[0].dense.units", "model.layers[1].dense.units", "x"}) ==
        std::vector<std::string>{"lr", "layers[0].dense.units", "layers[1].dense.units", "x"});
}

TEST_CASE("a range test suggests the rate at which the loss falls fastest, and ends when it diverges",
          "[search]") {
  RangeTest test;
  constexpr int kSteps = 100;
  for (int step = 0; step < kSteps && !test.has_diverged(kSteps); ++step) {
    // Falls around 1e-2, rises above 1.
    const double rate = 1e-6 * std::pow(10, 7.0 * step / (kSteps - 1));
    test.add(rate, 0.2 + 2 / (1 + rate / 1e-2) + std::pow(rate, 4) / 5);
  }
  CHECK(test.has_diverged(kSteps));
  CHECK(test.points().size() < kSteps);
  REQUIRE(test.steepest().has_value());
  CHECK(*test.steepest() > 3e-3);
  CHECK(*test.steepest() < 1e-1);
  CHECK(*test.lowest() > *test.steepest());
  const std::string table = range_table(test);
  CHECK(std::count(table.begin(), table.end(), '\n') <= 21);
  RateCurve curve{.marked = *test.steepest()};
  for (const RangeTest::Point& point : test.points()) {
    curve.rates.push_back(point.rate);
    curve.losses.push_back(point.loss);
    curve.smoothed.push_back(point.smoothed);
  }
  curve.losses.back() = curve.smoothed.back() = NAN;
  const std::string svg = svg_of(curve, "<t>");
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
  CHECK(svg.find("<t>") == std::string::npos);
}

TEST_CASE("a range test in which the loss never falls suggests nothing", "[search]") {
  RangeTest test;
  for (int step = 0; step < 50; ++step) test.add(1e-6 * std::pow(1.3, step), 2.3);
  CHECK_FALSE(test.steepest().has_value());
  CHECK_FALSE(test.has_diverged(50));
  test.add(1, NAN);
  CHECK(test.has_diverged(50));
  CHECK(range_table(RangeTest()).find("lr") != std::string::npos);
}

}  // namespace trainer
