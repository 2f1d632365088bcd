#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/engine/config/families.h"

namespace trainer {

TEST_CASE("the resolved YAML has every default and is short where it can be", "[config]") {
  const ConfigTree tree = tree_of(
      "vars: {width: 4}\n"
      "model: {layers: [{conv: {filters: $width, kernel: 3}}, {relu: {repeat: 2}}, {dense: $classes}]}\n"
      "train: {steps: 5, note: \"it's: \\\"so\\\"\", warmup: {epochs: 1}, metrics: [accuracy]}\n");
  CHECK(tree.resolved_yaml() ==
        "defaults: {init: glorot}\n"
        "model:\n"
        "  layers:\n"
        "    - conv: {filters: 4, kernel: 3, stride: 1, pad: 0, bias: true, activation: none}\n"
        "    - relu\n"
        "    - relu\n"
        "    - dense: {units: $classes, bias: true}\n"
        "train:\n"
        "  steps: 5\n"
        "  batch: 128\n"
        "  note: \"it's: \\\"so\\\"\"\n"
        "  shuffle: true\n"
        "  optimizer: {sgd: {lr: 0.01, momentum: 0.9, nesterov: false}}\n"
        "  schedule: constant\n"
        "  warmup: {epochs: 1}\n"
        "  evaluate: epoch\n"
        "  metrics: [accuracy]\n");
}

TEST_CASE("the resolved YAML resolves to itself", "[config]") {
  const std::string yaml = GENERATE(
      "model: {layers: []}\ntrain: {epochs: 0, note: ''}\n",
      "model: {layers: [relu]}\ntrain: {epochs: 1, note: \"yes\"}\n",
      "model: {layers: [relu]}\ntrain: {epochs: 1, note: \"a\\nb\\t\\x01 \\u00e9 $x ~\"}\n",
      "model: {layers: [relu]}\ntrain: {epochs: 1, note: '010', optimizer: {adam: {betas: [1.0e-30, "
      "123456.789]}}}\n",
      "model: {layers: [{residual: [{residual: [{dense: {units: $classes, init: {uniform: 1e-3}}}, relu]}, "
      "{conv: {filters: 1, kernel: [1, 2], pad: same, name: a-rather-long-name-for-a-layer}}]}]}\n"
      "train: {epochs: 1, evaluate: never, schedule: {step: {at: {steps: [1, 2]}}}}\n",
      "blocks: {b: {layers: [{dense: 1}, {concat: [[relu], [dense: 2, relu], []]}]}}\n"
      "defaults: {init: {normal: 2}}\n"
      "model: {layers: [{b: {name: x, repeat: 2, init: glorot}}, {dense: {units: 3, init: {normal: 2.0}}}]}\n"
      "train: {epochs: 1, schedule: {step: {at: {epochs: []}}}}\n");
  const std::string resolved = tree_of(yaml).resolved_yaml();
  INFO(resolved);
  const std::string mistake = mistake_in(resolved);
  INFO(mistake);
  CHECK(mistake.empty());
  CHECK(tree_of(resolved).resolved_yaml() == resolved);
}

TEST_CASE("the minimal YAML lacks what has its default, and resolves to the same", "[config]") {
  const ConfigTree tree = tree_of(
      "defaults: {init: {normal: 2}}\n"
      "model: {layers: [{conv: {filters: 4, kernel: 3, stride: 1}}, "
      "{residual: [dense: {units: 1, bias: false}, relu]}, {dense: {units: $classes, init: glorot}}]}\n"
      "train: {steps: 5, batch: 128, optimizer: {sgd: {momentum: 0.9}}, schedule: constant, "
      "evaluate: never}\n");
  const std::string minimal = tree.minimal_yaml();
  INFO(minimal);
  CHECK(minimal.find("stride") == std::string::npos);
  CHECK(minimal.find("batch") == std::string::npos);
  CHECK(minimal.find("dense: {units: 1, bias: false}") != std::string::npos);
  CHECK(tree_of(minimal).resolved_yaml() == tree.resolved_yaml());
  CHECK(tree_of(tree.resolved_yaml()).minimal_yaml() == minimal);
  CHECK(tree_of("model: {layers: [{dense: {units: 10}}]}\ntrain: {steps: 5}\n").minimal_yaml() ==
        "model:\n  layers: [{dense: 10}]\ntrain:\n  steps: 5\n");
}

TEST_CASE("the abbreviated YAML keeps variables and blocks that make it shorter, and resolves to the same",
          "[config]") {
  const std::string yaml =
      "vars: {width: 4, wide: $width, rate: 5, unused_below: 1}\n"
      "blocks:\n"
      "  unit:\n"
      "    args: {filters: ~, kernel: 3}\n"
      "    layers:\n"
      "      - conv: {filters: $filters, kernel: $kernel, bias: false}\n"
      "      - relu\n"
      "  pair: {layers: [unit: {filters: $wide}, unit: {filters: 8}]}\n"
      "defaults: {init: {normal: 0.5}}\n"
      "model:\n"
      "  layers:\n"
      "    - pair: {repeat: 3}\n"
      "    - dense: {units: $classes, init: glorot}\n"
      "train: {steps: $rate, batch: $unused_below, optimizer: {sgd: {lr: 0.01, momentum: 0.5}}}\n";
  const ConfigTree tree = tree_of(yaml);
  const std::string kept = tree.abbreviated_yaml();
  CHECK(kept ==
        "vars: {width: 4, wide: $width}\n"
        "blocks:\n"
        "  unit:\n"
        "    args: {filters: ~, kernel: 3}\n"
        "    layers:\n"
        "      - conv: {filters: $filters, kernel: $kernel, bias: false}\n"
        "      - relu\n"
        "  pair:\n"
        "    layers:\n"
        "      - unit: {filters: $wide}\n"
        "      - unit: {filters: 8}\n"
        "defaults: {init: {normal: 0.5}}\n"
        "model:\n"
        "  layers: [{pair: {repeat: 3}}, {dense: {units: $classes, init: glorot}}]\n"
        "train:\n"
        "  steps: 5\n"
        "  batch: 1\n"
        "  optimizer: {sgd: {momentum: 0.5}}\n");
  CHECK(tree_of(kept).resolved_yaml() == tree.resolved_yaml());
  CHECK(tree_of(kept).abbreviated_yaml() == kept);
  // Without anything to keep, and where a text names what nothing uses.
  for (const char* plain : {"model: {layers: [{dense: {units: 10}}]}\ntrain: {steps: 5}\n",
                            "vars: {a: 1}\nmodel: {layers: [relu]}\ntrain: {steps: $a, note: \"$a\"}\n"})
    CHECK(tree_of(plain).abbreviated_yaml() == tree_of(plain).minimal_yaml());
}

TEST_CASE("a section of any keys keeps them, their order and their characters", "[config]") {
  using Texts = std::vector<std::pair<std::string, std::string>>;
  const std::vector<Setting> root{section("names", "of others", {text("*", "here")}).fallback("{}")};
  const auto tree = [&](const std::string& yaml) {
    return ConfigTree({.file = "a.yaml", .text = yaml}, root);
  };
  const ConfigTree names = tree("names: {\"layer*.1\": \"b*\", conv: \"$1\", \"*\": x, 12: y}\n");
  const Texts expected{{"layer*.1", "b*"}, {"conv", "$1"}, {"*", "x"}, {"12", "y"}};
  CHECK(names.root().get<Texts>("names") == expected);
  CHECK(tree(names.resolved_yaml()).root().get<Texts>("names") == expected);
  CHECK(tree(names.minimal_yaml()).root().get<Texts>("names") == expected);
  CHECK(tree("{}").root().get<Texts>("names").empty());
  CHECK(names.fixed_differences(tree("names: {\"layer*.1\": \"b*\", c: \"$1\", \"*\": x, 12: y}\n")) ==
        std::vector<std::string>{"names"});
  CHECK(nlohmann::json::parse(json_schema(root))["properties"]["names"].contains("additionalProperties"));
  CHECK_THROWS_WITH(tree("names: {conv: [x]}\n"), Catch::Contains("`conv` expects a text, got a list"));
  CHECK_THROWS_WITH(tree("names: conv\n"), Catch::Contains("`names` expects a map, got a text"));
}

TEST_CASE("one member alone is emitted too", "[config]") {
  CHECK(ConfigTree::member("optimizer", "adam").resolved_yaml() ==
        "{adam: {lr: 0.001, betas: [0.9, 0.999]}}\n");
}

TEST_CASE("the schema and the key reference name every declared key", "[config]") {
  const auto schema = nlohmann::json::parse(json_schema(test_root()));
  const std::string reference = key_reference(test_root());
  CHECK(schema["$schema"] == "http://json-schema.org/draft-07/schema#");
  for (const Setting& part : test_root()) {
    for (const Setting& setting : part.nested) {
      INFO(setting.name);
      CHECK(schema["properties"][part.name]["properties"].contains(setting.name));
      CHECK_THAT(reference, Catch::Contains("| `" + setting.name + "` |"));
    }
  }
  for (const auto& [name, family] : Catalog::all().families()) {
    for (const auto& [member_name, member] : family.members) {
      INFO(member_name);
      const auto& known = schema["definitions"][name]["oneOf"][1]["properties"];
      REQUIRE(known.contains(member_name));
      CHECK_THAT(reference, Catch::Contains(fmt::format("### {}\n", member_name)));
      const std::string settings = fmt::format("{}.{}", name, member_name);
      CHECK(known[member_name]["anyOf"][0]["$ref"] == "#/definitions/" + settings);
      for (const Setting& setting : member.settings)
        CHECK(schema["definitions"][settings]["properties"].contains(setting.name));
    }
  }
}

}  // namespace trainer
