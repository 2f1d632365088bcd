#include "models/network/network.h"

#include <catch2/catch.hpp>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

struct NoSum final : StatisticsReducer {
  void sum(int, std::span<const double>, std::span<double>) override {}
};

TEST_CASE("a network takes as many gradients as its workers' trees have roots, or none", "[network]") {
  const ConfigTree yaml = layer_list("dense: 3");
  Network network(yaml.root().items("layers"), {4},
                  {.batch = 6, .virtual_workers = {.count = 6, .threads = 2, .exact = true}});
  const Arena values(network.plan().parameter_end());
  std::vector<Arena> memory;
  memory.reserve(5);
  for (int i = 0; i < 5; ++i) memory.emplace_back(network.plan().parameter_end());
  const auto attach = [&](std::size_t count) {
    std::vector<std::span<float>> gradients;
    for (std::size_t i = 0; i < count; ++i) gradients.push_back(memory[i].floats());
    NoSum sum;
    network.attach(values.floats(), {gradients, sum});
  };
  // Of 6 virtual workers, the first three are a pair and a single one, the others a single one and a pair.
  attach(4);
  attach(0);
  CHECK_THROWS_AS(attach(3), std::logic_error);
  CHECK_THROWS_AS(attach(5), std::logic_error);
}

}  // namespace
}  // namespace trainer
