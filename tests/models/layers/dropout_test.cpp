#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

const std::vector<float> kOnes(40 * 25, 1.0f);

TEST_CASE("dropout passes the gradient check", "[layers]") {
  check_gradients("dropout: 0.4", {7});
  check_gradients("dense: 5, dropout: 0.4, tanh", {4}, {.rows = 4, .workers = 2});
}

TEST_CASE("dropout zeroes its rate of the numbers and keeps their mean", "[layers]") {
  LayerHarness harness("dropout: 0.3", {25}, {.rows = 40});
  const std::vector<float> y = harness.forward(kOnes);
  const auto zeros = static_cast<double>(std::ranges::count(y, 0.0f));
  CHECK(zeros / static_cast<double>(y.size()) == Approx(0.3).margin(0.04));
  CHECK(std::ranges::all_of(y, [](float number) { return number == 0 || number == 1 / (1 - 0.3f); }));
}

TEST_CASE("the mask of a sample does not depend on the worker that holds it", "[layers]") {
  LayerHarness alone("dropout: 0.5", {25}, {.rows = 40, .workers = 1});
  LayerHarness split("dropout: 0.5", {25}, {.rows = 40, .workers = 3});
  CHECK(alone.forward(kOnes) == split.forward(kOnes));
}

TEST_CASE("two dropout layers draw different masks", "[layers]") {
  LayerHarness one("dropout: 0.5", {25}, {.rows = 40});
  LayerHarness two("dropout: {rate: 0.5, name: other}", {25}, {.rows = 40});
  CHECK(one.forward(kOnes) != two.forward(kOnes));
}

TEST_CASE("a rate of 1 is an error of the file", "[layers]") {
  CHECK_THROWS_WITH(layer_list("dropout: 1"), Catch::Contains("rate"));
}

}  // namespace
}  // namespace trainer
