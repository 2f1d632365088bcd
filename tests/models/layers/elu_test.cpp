#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("elu passes the gradient check for any alpha, also over another layer's memory", "[layers]") {
  const std::string layer = GENERATE("elu", "elu: 0.3", "elu: 0");
  check_gradients(layer, {7});
  check_gradients("dense: 5, " + layer + ", dense: 3", {4}, {.rows = 4, .workers = 2});
}

}  // namespace
}  // namespace trainer
