#include "cli/reports/axis.h"

#include <catch2/catch.hpp>

namespace trainer {
namespace {

std::vector<double> ticks(double low, double high, Axis::Scale scale) {
  return Axis(low, high, 0, 1, scale).ticks();
}

/// Ticks that are these, but for rounding.
void check_ticks(double low, double high, Axis::Scale scale, const std::vector<double>& expected) {
  CAPTURE(low, high);
  CHECK_THAT(ticks(low, high, scale), Catch::Approx(expected));
}

}  // namespace

TEST_CASE("a linear axis has about five round ticks", "[cli]") {
  check_ticks(0, 1, Axis::Scale::linear, {0, 0.2, 0.4, 0.6, 0.8, 1});
  check_ticks(-3, 12, Axis::Scale::linear, {0, 5, 10});
  check_ticks(7, 7, Axis::Scale::linear, {0, 7, 14});
}

TEST_CASE("a logarithmic axis has powers of ten, and ticks between them where there is room", "[cli]") {
  check_ticks(1e-7, 1, Axis::Scale::logarithmic, {1e-7, 1e-5, 1e-3, 0.1});
  check_ticks(0.01, 2, Axis::Scale::logarithmic, {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2});
  check_ticks(2e-4, 6e-4, Axis::Scale::logarithmic, {2e-4, 5e-4});
}

TEST_CASE("an axis without a power of ten has other round ticks", "[cli]") {
  check_ticks(3e-4, 4.2e-4, Axis::Scale::logarithmic, {3e-4, 3.5e-4, 4e-4});
  check_ticks(55, 90, Axis::Scale::logarithmic, {60, 70, 80, 90});
}

TEST_CASE("the ends of an axis count as inside, however they were rounded", "[cli]") {
  check_ticks(1e-3 * (1 + 1e-12), 1 - 1e-12, Axis::Scale::logarithmic,
              {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1});
  CHECK(Axis(1, 100, 10, 30, Axis::Scale::logarithmic).place(10) == Approx(20));
}

}  // namespace trainer
