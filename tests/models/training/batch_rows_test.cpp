#include "models/training/batch_rows.h"

#include <catch2/catch.hpp>

#include "models/network/network.h"
#include "tests/support/layer_harness.h"

namespace trainer {
namespace {

void check(const std::string& layers, const Shape& sample, const BatchOrder::Options& order) {
  const ConfigTree tree = layer_list(layers);
  check_batch_rows(Network(tree.root().items("layers"), sample, {.batch = order.batch}).plan(), order);
}

}  // namespace

TEST_CASE("batch_norm over one value per channel is an error of its line", "[training]") {
  const std::string layers = "dense: 3, batch_norm: {name: norm}";
  CHECK_THROWS_WITH(check(layers, {4}, {.samples = 10, .batch = 1}),
                    Catch::Contains("norm normalizes each channel over the batch, which requires at least 2 "
                                    "samples; a batch has 1") &&
                        Catch::Contains("test.yaml:1"));
  CHECK_NOTHROW(check(layers, {4}, {.samples = 10, .batch = 2}));
  CHECK_THROWS(check("global_avg_pool, batch_norm", {5, 5, 3}, {.samples = 10, .batch = 1}));
  CHECK_NOTHROW(check("batch_norm", {5, 5, 3}, {.samples = 10, .batch = 1}));
}

TEST_CASE("a last batch of one sample is an error that names drop_last", "[training]") {
  const std::string layers = "dense: 3, residual: [batch_norm]";
  CHECK_THROWS_WITH(check(layers, {4}, {.samples = 13, .batch = 4}),
                    Catch::Contains("the last batch of an epoch has 1") && Catch::Contains("data.drop_last"));
  CHECK_NOTHROW(check(layers, {4}, {.samples = 13, .batch = 4, .drop_last = true}));
  CHECK_NOTHROW(check(layers, {4}, {.samples = 13, .batch = 4, .streams = true}));
  CHECK_NOTHROW(check(layers, {4}, {.samples = 14, .batch = 4}));
}

}  // namespace trainer
