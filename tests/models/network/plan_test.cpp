#include <catch2/catch.hpp>

#include "engine/config/config_tree.h"
#include "models/network/network.h"
#include "models/network/network_plan.h"

namespace trainer {
namespace {

Network network_of(const std::string& layer) {
  const ConfigTree tree = ConfigTree::member("layer", layer);
  return Network({tree.root()}, Shape{28, 28, 1}, {.batch = 4});
}

}  // namespace

TEST_CASE("a network larger than any machine is an error, whatever makes it so", "[network]") {
  const char* const layer = GENERATE(
      "concat: [[{dense: {units: 1000000000, repeat: 12}}]]",
      "concat: [[{conv: {filters: 1000000000, kernel: 1}}, {conv: {filters: 1000000000, kernel: 1}}]]",
      "concat: [[{conv: {filters: 1000000000, kernel: 1}}, {batch_norm: {repeat: 40}}]]");
  INFO(layer);
  CHECK_THROWS_WITH(network_of(layer), Catch::Contains("too large"));
}

}  // namespace trainer
