// adaptive_avg_pool, upsample, permute, reshape
#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("layers that change places pass the gradient check", "[layers]") {
  const std::string layer = GENERATE("adaptive_avg_pool: 2", "adaptive_avg_pool: [3, 1]", "upsample: 2",
                                     "upsample: {factor: [2, 3], mode: bilinear}", "permute: [2, 3, 1]",
                                     "reshape: [2, -1]", "reshape: [-1]");
  check_gradients(layer, {3, 4, 2}, {.rows = 3, .workers = 2});
}

TEST_CASE("reshape and permute that keep every number in its place cost nothing", "[layers]") {
  const auto memory = [](const std::string& between) {
    return LayerHarness("dense: 4" + between + ", tanh", {3, 4}, {}).plan().saved_end();
  };
  CHECK(memory(", reshape: [12]") == memory(""));
  CHECK(memory(", permute: [1, 2]") == memory(""));
  CHECK(memory(", permute: [2, 1]") > memory(""));
  CHECK(memory(", reshape: [2, 2, 3]") > memory(""));
}

TEST_CASE("a map reads as channels, height, width when it is reshaped, as flatten does", "[layers]") {
  const std::vector<float> x{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11};  // (2, 3, 2) in memory
  LayerHarness harness("reshape: [12]", {2, 3, 2}, {.rows = 1});
  CHECK(harness.forward(x) == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

TEST_CASE("shapes and axes that make no sense are errors", "[layers]") {
  CHECK_THROWS_WITH(LayerHarness("reshape: [5, -1]", {12}, {}),
                    Catch::Contains("12 elements do not fill the shape 5x2"));
  CHECK_THROWS_WITH(LayerHarness("reshape: [-1, -1]", {12}, {}), Catch::Contains("only one extent"));
  CHECK_THROWS_WITH(LayerHarness("permute: [1, 1]", {3, 4}, {}), Catch::Contains("each once"));
  CHECK_THROWS_WITH(LayerHarness("permute: [2, 1]", {12}, {}), Catch::Contains("it orders 2 extents"));
  CHECK_THROWS_WITH(LayerHarness("adaptive_avg_pool: 4", {3, 5, 1}, {}),
                    Catch::Contains("its output is 4x4"));
}

}  // namespace
}  // namespace trainer
