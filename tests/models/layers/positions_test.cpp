#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("positions are added to every sample alike", "[layers]") {
  LayerHarness harness("positions", {2, 2}, {.rows = 2});
  const std::span<float> added = harness.values(harness.parameters()[0]);
  std::ranges::copy(std::vector<float>{10, 20, 30, 40}, added.begin());
  CHECK(harness.forward(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}) ==
        std::vector<float>{11, 22, 33, 44, 15, 26, 37, 48});
}

TEST_CASE("positions pass the gradient check, alone and inside a residual", "[layers]") {
  const std::string layers = GENERATE("positions", "residual: [positions, tanh]", "dense: 3, positions");
  check_gradients(layers, {4, 3}, {.rows = 3, .workers = 2});
}

TEST_CASE("positions expect a sequence of vectors", "[layers]") {
  CHECK_THROWS_WITH(LayerHarness("positions", {5}, {}), Catch::Contains("a sequence of vectors"));
}

}  // namespace
}  // namespace trainer
