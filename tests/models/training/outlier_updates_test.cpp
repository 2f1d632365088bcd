#include "models/training/outlier_updates.h"

#include <catch2/catch.hpp>
#include <limits>

namespace trainer {
namespace {

/// Norms around 10 whose standard deviation is near 1.
double usual(int number) { return 10 + (number % 2 == 0 ? 1 : -1); }

NormHistory full_history(const OutlierSettings& settings) {
  NormHistory history(settings);
  for (int i = 0; i < settings.window; ++i) CHECK_FALSE(history.take(usual(i)));
  return history;
}

}  // namespace

TEST_CASE("a norm is an outlier from z standard deviations above the mean on", "[outliers]") {
  NormHistory history = full_history({.z = 4, .window = 20});
  CHECK_FALSE(history.take(14));
  CHECK_FALSE(history.take(0));
  NormHistory again = full_history({.z = 4, .window = 20});
  const auto skipped = again.take(14.2);
  REQUIRE(skipped);
  CHECK(skipped->norm == 14.2);
  CHECK(skipped->mean == Approx(10));
  CHECK(skipped->deviation == Approx(1.02598));
}

TEST_CASE("no norm is an outlier before the window is full", "[outliers]") {
  NormHistory history({.z = 1, .window = 20});
  for (int i = 0; i < 19; ++i) CHECK_FALSE(history.take(usual(i)));
  CHECK_FALSE(history.take(1e6));
}

TEST_CASE("an outlier does not hide the next one", "[outliers]") {
  NormHistory history = full_history({.z = 6, .window = 50});
  for (int i = 0; i < 10; ++i) {
    CHECK(history.take(1000));
    CHECK_FALSE(history.take(usual(i)));
  }
  CHECK(history.norms().size() == 50);
}

TEST_CASE("norms that rise for good are accepted after some updates", "[outliers]") {
  NormHistory history = full_history({.z = 6, .window = 50});
  int skipped = 0;
  for (int i = 0; i < 50; ++i) skipped += history.take(10 * usual(i)) ? 1 : 0;
  CHECK(skipped > 0);
  CHECK(skipped < 20);
}

TEST_CASE("a restored history continues, and takes no numbers that are no norms", "[outliers]") {
  NormHistory history = full_history({.z = 4, .window = 20}), restored({.z = 4, .window = 20});
  history.take(12);
  restored.restore(history.norms());
  CHECK(restored.norms() == history.norms());
  CHECK(restored.take(14.3).has_value() == history.take(14.3).has_value());
  NormHistory shorter({.z = 4, .window = 10});
  shorter.restore(history.norms());
  CHECK(shorter.norms() == std::vector<double>(history.norms().end() - 10, history.norms().end()));
  restored.restore({1, -1});
  CHECK(restored.norms().empty());
  restored.restore({std::numeric_limits<double>::quiet_NaN()});
  CHECK(restored.norms().empty());
}

}  // namespace trainer
