// In exact mode no layer's bits depend on how virtual workers are distributed to workers.
#include <catch2/catch.hpp>

#include "tests/models/layers/layer_examples.h"
#include "tests/support/layer_check.h"

namespace trainer {

TEST_CASE("in exact mode any distribution of virtual workers gives a layer the same bits", "[layers]") {
  for (const auto& [name, example] : kLayerExamples)
    check_exactness(example.layers, example.sample, example.vocabulary);
}

TEST_CASE("every layer that exists has its exactness checked", "[layers]") {
  for (const auto& [name, declaration] : Catalog::all().at("layer").members) {
    INFO(name << " has no example in tests/models/layers/layer_examples.h");
    CHECK(kLayerExamples.contains(name));
  }
}

}  // namespace trainer
