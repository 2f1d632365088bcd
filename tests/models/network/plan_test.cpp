#include <catch2/catch.hpp>
#include <string>
#include <vector>

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

TEST_CASE("hidden matrices are the weights of products, but for those of the last layer", "[network]") {
  const auto hidden = [](const std::string& layers, const Shape& sample) {
    const ConfigTree tree = ConfigTree::member("layer", "recompute: [" + layers + "]");
    const Network network({tree.root()}, sample, {.batch = 4});
    std::vector<std::string> names;
    for (const Parameter& parameter : network.plan().parameters())
      if (network.plan().is_hidden_matrix(parameter)) names.push_back(parameter.name);
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(hidden("{conv: {filters: 4, kernel: 3}}, batch_norm, {dense: 7}, {dense: 5}", {28, 28, 1}) ==
        Names{"conv1.weight", "dense1.weight"});
  CHECK(hidden("{embedding: {units: 6, vocabulary: 9, positions: learned}}, {lstm: 4}, {dense: 9}", {8}) ==
        Names{"lstm1.weight_ih_l0", "lstm1.weight_hh_l0"});
  CHECK(hidden("{embedding: {units: 6, vocabulary: 9, name: tokens}}, {dense: 6}, {dense: {units: 9, bias: "
               "false, tie: tokens}}",
               {8}) == Names{"dense1.weight"});
  CHECK(hidden("{dense: 3}", {8}).empty());
}

}  // namespace trainer
