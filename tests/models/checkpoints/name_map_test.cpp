#include "models/checkpoints/name_map.h"

#include <catch2/catch.hpp>

#include "engine/core/error.h"

namespace trainer {

TEST_CASE("a rule renames a layer or a tensor, and nothing that only begins alike", "[training]") {
  const NameMap names({{"layer1.0.conv1", "conv2"}, {"fc.weight", "head.matrix"}});
  CHECK(names("layer1.0.conv1.weight") == "conv2.weight");
  CHECK(names("layer1.0.conv1") == "conv2");
  CHECK(names("layer1.0.conv10.weight") == "layer1.0.conv10.weight");
  CHECK(names("fc.weight") == "head.matrix");
  CHECK(names("fc.bias") == "fc.bias");
  CHECK(NameMap()("fc.bias") == "fc.bias");
}

TEST_CASE("each * stands for a part of a name, the same on both sides", "[training]") {
  const NameMap names({{"layer*.*.bn*", "stage*_*.norm*"}, {"module.*", "*"}, {"a*b*c", "*-*"}});
  CHECK(names("layer12.0.bn1.running_mean") == "stage12_0.norm1.running_mean");
  CHECK(names("layer1.0.conv1.weight") == "layer1.0.conv1.weight");
  CHECK(names("module.conv1.weight") == "conv1.weight");
  CHECK(names("axxbyc") == "xx-y");
  CHECK(names("abbc") == "-b");
  CHECK(names("abcabc") == "-cab");
  CHECK(names("a.bc") == "a.bc");
}

TEST_CASE("the first rule that fits counts", "[training]") {
  const NameMap names({{"layer1.*.bn1", "first*"}, {"layer*.*.bn1", "other*_*"}});
  CHECK(names("layer1.3.bn1") == "first3");
  CHECK(names("layer2.3.bn1") == "other2_3");
  CHECK(names.rule_of("layer2.3.bn1") == 1);
  CHECK(names.rule_of("fc") == 2);
}

TEST_CASE("a rule with a * that stands for nothing is refused", "[training]") {
  using Rules = std::vector<NameMap::Rule>;
  CHECK_THROWS_AS(NameMap(Rules{{"conv1", "conv*"}}), Error);
  CHECK_THROWS_AS(NameMap(Rules{{"conv1", ""}}), Error);
  CHECK_NOTHROW(NameMap(Rules{{"conv*", "conv"}}));
}

TEST_CASE("a long name with many fitting characters costs no exponential time", "[training]") {
  const NameMap names(std::vector<NameMap::Rule>{{"*a*a*a*a*a*a*b", "*"}});
  const std::string name(20'000, 'a');
  CHECK(names(name) == name);
}

}  // namespace trainer
