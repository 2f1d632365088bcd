#include "models/training/area_under_curve.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

namespace trainer {

TEST_CASE("the area under the curve is the share of pairs in the right order; equal pairs count half",
          "[metrics]") {
  const auto alone = solo();
  // 3 before 1 and -2, 1 level with 1 and before -2, 0 before -2 only.
  CHECK(area_under_curve({{3, 1, 0}, {1, -2}}, *alone) == (2 + 1.5 + 1) / 6);
  // Scores that differ in the last digit are not level; zeros of both signs are.
  const float next = std::nextafter(1.0f, 2.0f);
  CHECK(area_under_curve({{next}, {1}}, *alone) == 1);
  CHECK(area_under_curve({{0.0f}, {-0.0f}}, *alone) == 0.5);
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(area_under_curve({{infinity, 0}, {infinity, -infinity}}, *alone) == (1.5 + 1) / 4);
}

TEST_CASE("there is no area where a score is no number or a class has no samples", "[metrics]") {
  const auto alone = solo();
  CHECK(std::isnan(area_under_curve({{1, std::nanf("")}, {0}}, *alone)));
  CHECK(std::isnan(area_under_curve({{1}, {}}, *alone)));
  CHECK(std::isnan(area_under_curve({}, *alone)));
}

}  // namespace trainer
