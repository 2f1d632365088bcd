#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("prelu passes the gradient check with a factor for each channel and with one for all", "[layers]") {
  const std::string layer = GENERATE("prelu", "prelu: {shared: true}");
  check_gradients(layer, {7});
  check_gradients(layer, {2, 3, 3}, {.rows = 3, .workers = 2});
}

TEST_CASE("the factors of prelu begin at 0.25 and are no weights", "[layers]") {
  LayerHarness harness("prelu", {2, 2, 3}, {});
  REQUIRE(harness.parameters().size() == 1);
  CHECK(harness.parameters()[0].shape == Shape{3});
  CHECK(harness.parameters()[0].constant == 0.25f);
  CHECK_FALSE(harness.parameters()[0].is_weight);
}

}  // namespace
}  // namespace trainer
