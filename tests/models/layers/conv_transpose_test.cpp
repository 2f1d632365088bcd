#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("conv_transpose passes the gradient check", "[layers]") {
  const std::string settings = GENERATE("kernel: 2", "kernel: 3, stride: 2, pad: 1, extra: 1",
                                        "kernel: [1, 3], groups: 2, bias: false");
  check_gradients("conv_transpose: {filters: 4, " + settings + "}", {3, 2, 2}, {.rows = 3, .workers = 2});
}

TEST_CASE("conv_transpose undoes the shape of a convolution with the same settings", "[layers]") {
  const std::string settings = "kernel: 3, stride: 2, pad: 1";
  const LayerHarness harness(
      "conv: {filters: 2, " + settings + "}, conv_transpose: {filters: 3, " + settings + "}", {7, 9, 3}, {});
  CHECK(harness.output() == Shape{7, 9, 3});
}

TEST_CASE("conv_transpose refuses settings without an output", "[layers]") {
  CHECK_THROWS_WITH(LayerHarness("conv_transpose: {filters: 1, kernel: 1, pad: 2}", {3, 3, 1}, {}),
                    Catch::Contains("padding"));
  CHECK_THROWS_WITH(LayerHarness("conv_transpose: {filters: 1, kernel: 1, extra: 1}", {3, 3, 1}, {}),
                    Catch::Contains("less than the stride"));
}

}  // namespace
}  // namespace trainer
