#include <catch2/catch.hpp>

#include "tests/engine/config/families.h"

namespace trainer {
namespace {

std::vector<std::string> names_in(const Config& list) {
  std::vector<std::string> names;
  for (const Config& layer : list.items())
    names.push_back(layer.type() + (layer.has("name") ? ":" + layer.get<std::string>("name") : ""));
  return names;
}

std::vector<std::string> names_in(const ConfigTree& tree) {
  return names_in(tree.root().at("model").at("layers"));
}

using Names = std::vector<std::string>;

std::string with_layers(const std::string& before, const std::string& layers) {
  return before + "model: {layers: " + layers + "}\ntrain: {epochs: 1}\n";
}

}  // namespace

TEST_CASE("a variable stands for a number, a text, a map or a list", "[config]") {
  const ConfigTree tree = tree_of(
      "vars: {width: 7, act: relu, rule: {adam: {lr: $rate}}, rate: 0.5, body: [relu, {dense: $width}]}\n"
      "model: {layers: [{dense: $width}, $act, {residual: $body}]}\n"
      "train: {epochs: 1, optimizer: $rule}\n");
  const auto layers = tree.root().at("model").items("layers");
  CHECK(layers[0].get<int>("units") == 7);
  CHECK(layers[1].type() == "relu");
  CHECK(layers[2].items("body")[1].get<int>("units") == 7);
  CHECK(tree.root().at("train").at("optimizer").get<double>("lr") == 0.5);
}

TEST_CASE("a quoted dollar is a text", "[config]") {
  const ConfigTree tree = tree_of("model: {layers: [relu]}\ntrain: {epochs: 1, note: \"$width\"}\n");
  CHECK(tree.root().at("train").get<std::string>("note") == "$width");
}

TEST_CASE("an argument comes before a variable, a variable before what the data gives", "[config]") {
  const ConfigTree tree =
      layers_of("[{b: {n: $n}}, {b: 4}, {dense: $classes}]",
                "vars: {n: 1, classes: 3}\nblocks: {b: {args: {n: ~}, layers: [{dense: $n}]}}\n");
  const auto layers = tree.root().at("model").items("layers");
  CHECK(layers[0].get<int>("units") == 1);
  CHECK(layers[1].get<int>("units") == 4);
  CHECK(layers[2].get<int>("units") == 3);
}

TEST_CASE("a block's layers take its place, with its arguments or their defaults", "[config]") {
  const ConfigTree tree =
      layers_of("[{pair: {n: 2}}, relu, {pair: {n: 3, d: 0.5, repeat: 2}}]",
                "blocks: {pair: {args: {n: ~, d: 0.1}, layers: [{dense: $n}, {dropout: $d}]}}\n");
  const auto layers = tree.root().at("model").items("layers");
  REQUIRE(layers.size() == 7);
  CHECK(layers[1].get<float>("rate") == 0.1f);
  CHECK(layers[5].get<int>("units") == 3);
  CHECK(layers[6].get<float>("rate") == 0.5f);
  CHECK(layers[6].path() == "model.layers[6].dropout");
}

TEST_CASE("blocks stand in blocks and in a residual's body", "[config]") {
  CHECK(names_in(layers_of("[{outer: {repeat: 2}}]",
                           "blocks:\n"
                           "  inner: {args: {n: 1}, layers: [{dense: $n}, relu]}\n"
                           "  outer: {layers: [{inner: 5}, {residual: [inner]}]}\n")) ==
        Names{"dense", "relu", "residual", "dense", "relu", "residual"});
}

TEST_CASE("a repeated name gets a number, a block's name goes before those of its layers", "[config]") {
  const std::string blocks = "blocks: {b: {layers: [dense: 1, {relu: {name: act}}, residual: [dense: 2]]}}\n";
  CHECK(names_in(layers_of("[{relu: {repeat: 2, name: a}}, {relu: {name: b}}]")) ==
        Names{"relu:a1", "relu:a2", "relu:b"});
  CHECK(names_in(layers_of("[b, b]", blocks)) ==
        Names{"dense", "relu:act1", "residual", "dense", "relu:act2", "residual"});
  const ConfigTree tree = layers_of("[{b: {name: x, repeat: 2}}, {b: {name: y}}]", blocks);
  CHECK(names_in(tree) == Names{"dense:x1.dense1", "relu:x1.act", "residual:x1.residual1", "dense:x2.dense1",
                                "relu:x2.act", "residual:x2.residual1", "dense:y.dense1", "relu:y.act",
                                "residual:y.residual1"});
  CHECK(names_in(tree.root().at("model").items("layers")[2].at("body")) == Names{"dense:x1.dense2"});
}

TEST_CASE("defaults fill in settings that a layer lacks; the nearer ones win", "[config]") {
  const ConfigTree tree = layers_of(
      "[{dense: 1}, {dense: {units: 2, init: {uniform: 0.1}, bias: true}}, {b: {init: {normal: 3}}}, relu]",
      "defaults: {init: {normal: 1}, conv: {init: {normal: 2}}, dense: {bias: false}}\n"
      "blocks: {b: {layers: [{conv: {filters: 1, kernel: 1}}, {dense: {units: 1, init: glorot}}]}}\n");
  const auto layers = tree.root().at("model").items("layers");
  CHECK(layers[0].at("init").get<double>("std") == 1);
  CHECK(layers[0].given("init"));
  CHECK_FALSE(layers[0].get<bool>("bias"));
  CHECK(layers[1].at("init").type() == "uniform");
  CHECK(layers[1].get<bool>("bias"));
  CHECK(layers[2].at("init").get<double>("std") == 3);
  CHECK(layers[3].at("init").type() == "glorot");
  const ConfigTree by_type = layers_of("[{conv: {filters: 1, kernel: 1}}]",
                                       "defaults: {init: {normal: 1}, conv: {init: {normal: 2}}}\n");
  CHECK(by_type.root().at("model").items("layers")[0].at("init").get<double>("std") == 2);
}

TEST_CASE("`<<` merges maps: own keys first, then the earlier map", "[config]") {
  const ConfigTree tree = tree_of(
      "x-one: &one {filters: 1, kernel: 1}\n"
      "x-two: &two {filters: 2, kernel: 2, bias: false}\n"
      "model: {layers: [{conv: {<<: [*one, *two], filters: 9}}]}\n"
      "train: {epochs: 1}\n");
  const Config conv = tree.root().at("model").items("layers")[0];
  CHECK(conv.get<int>("filters") == 9);
  CHECK(conv.get<std::vector<std::int64_t>>("kernel")[0] == 1);
  CHECK_FALSE(conv.get<bool>("bias"));
  CHECK_THAT(mistake_in(with_layers("", "[{relu: {<<: 3}}]")), Catch::Contains("`<<` expects a map"));
}

TEST_CASE("mistakes in variables, blocks and defaults are reported where they are", "[config]") {
  using Row = std::tuple<std::string, std::string, std::string>;
  const std::string block = "blocks: {b: {args: {n: ~, m: 1}, layers: [{dense: $n}, {dropout: $m}]}}\n";
  const auto [before, layers, expected] = GENERATE_COPY(table<std::string, std::string, std::string>({
      Row{"vars: {widht: 3, width: 4}\n", "[{dense: $width}]", "^^^^^ did you mean `width`?"},
      Row{"vars: {width: 3}\n", "[{dense: $widht}]", "^^^^^^ did you mean `$width`?"},
      Row{"vars: {a: $b, b: $a}\n", "[{dense: $a}]", "stands for itself"},
      Row{"vars: {a: ~}\n", "[{dense: $a}]", "`dense` has no value"},
      Row{"vars: [a]\n", "[relu]", "`vars` expects a map, got a list"},
      Row{"vars:\n", "[relu]", "`vars` expects a map, got nothing"},
      Row{block, "[{b: {m: 0.1}}]", "missing key `n` in b"},
      Row{block, "[b]", "missing key `n` in b"},
      Row{block, "[{b: {n: 1, k: 2}}]", "= b takes n, m, repeat, name, init"},
      Row{block, "[{b: 3}]", "`b` expects a map of its arguments, got a text"},
      Row{block, "[{b: }]", "`b` has no value"},
      Row{block, "[{b: {n: 1, repeat: 100000}}]", "`repeat` must be from 1 to 10000, got 100000"},
      Row{block, "[relu]", "nothing uses the block `b`"},
      Row{block, "[bb]", "^^ did you mean `b`?"},
      Row{"blocks: {b: {args: {n: 1}, layers: [relu]}}\n", "[b]", "block `b` does not use its argument `n`"},
      Row{"blocks: {b: {layers: [b]}}\n", "[b]", "block `b` contains itself"},
      Row{"blocks: {b: {layers: [{residual: [c]}]}, c: {layers: [b]}}\n", "[b]", "block `b` contains itself"},
      Row{"blocks: {b: {layres: [relu]}}\n", "[b]", "^^^^^^ did you mean `layers`?"},
      Row{"blocks: {b: [relu]}\n", "[b]", "block `b` expects `layers`, got a list"},
      Row{"blocks: {b: {layers: relu}}\n", "[b]", "`layers` expects a list, got a text"},
      Row{"blocks: {relu: {layers: [relu]}}\n", "[relu]", "block `relu` has the name of a layer"},
      Row{"blocks: {b: {args: {name: 1}, layers: [relu]}}\n", "[b]", "argument `name` has a reserved name"},
      Row{"defaults: {initt: glorot}\n", "[relu]", "^^^^^ did you mean `init`?"},
      Row{"defaults: {name: x}\n", "[relu]", "unknown key `name` in defaults"},
      Row{"defaults: {conv: {bais: true}}\n", "[relu]", "unknown key `bais` in the defaults of conv"},
      Row{"defaults: {conv: {bias: 3}}\n", "[relu]", "`bias` expects true or false"},
      Row{"defaults: {init: {normal: -1}}\n", "[relu]", "`std` must be above 0, got -1"},
      Row{"", "$classes", "`layers` expects a list, but `$classes` is a number"},
  }));
  INFO(before << layers);
  CHECK_THAT(mistake_in(with_layers(before, layers)), Catch::Contains(expected));
}

TEST_CASE("a mistake in a block is reported once, however often the block is used", "[config]") {
  const std::string text =
      mistake_in(with_layers("blocks: {b: {layers: [{dense: -1}, {dense: x}]}}\n", "[b, {b: {repeat: 5}}]"));
  CHECK(text ==
        "error: `units` must be at least 1, got -1\n"
        "  --> a.yaml:1:31\n"
        "1 | blocks: {b: {layers: [{dense: -1}, {dense: x}]}}\n"
        "  |                               ^^\n\n"
        "error: `units` expects a whole number, got a text\n"
        "  --> a.yaml:1:44\n"
        "1 | blocks: {b: {layers: [{dense: -1}, {dense: x}]}}\n"
        "  |                                            ^");
}

TEST_CASE("a value of the wrong size that the data gives is reported at the key that uses it", "[config]") {
  ConfigTree tree = layers_of("[{conv: {filters: 1, kernel: [$classes, 3]}}]");
  const Config conv = tree.root().at("model").items("layers")[0];
  CHECK_THROWS_AS(conv.get<std::vector<std::int64_t>>("kernel"), std::logic_error);
  tree.define("vocab", "5");
  tree.define("classes", "2");
  CHECK(conv.get<std::vector<std::int64_t>>("kernel") == std::vector<std::int64_t>{2, 3});
  ConfigTree empty = layers_of("[{dense: $classes}]");
  CHECK_THROWS_WITH(empty.define("classes", "0"), Catch::Contains("`units` must be at least 1, got 0"));
}

TEST_CASE("integers beside one that the data gives are read and checked at once", "[config]") {
  const std::string layer = "[{conv: {filters: 1, kernel: [$classes, $k]}}]";
  ConfigTree tree = layers_of(layer, "vars: {k: 3}\n");
  tree.define("classes", "2");
  CHECK(tree.root().at("model").items("layers")[0].get<std::vector<std::int64_t>>("kernel") ==
        std::vector<std::int64_t>{2, 3});
  CHECK_THAT(mistake_in(with_layers("vars: {k: 0}\n", layer)),
             Catch::Contains("`kernel` must be at least 1, got 0"));
  CHECK_THAT(mistake_in("vars: {k: -1}\nmodel: {layers: [relu]}\n"
                        "train: {epochs: 1, schedule: {step: {at: {epochs: [$classes, $k]}}}}\n"),
             Catch::Contains("`at` must be from 0 to 1000000000, got -1"));
}

TEST_CASE("an integer behind one with a mistake is checked", "[config]") {
  CHECK_THAT(mistake_in(with_layers("", "[{conv: {filters: 1, kernel: [$missing, 0]}}]")),
             Catch::Contains("missing") && Catch::Contains("`kernel` must be at least 1, got 0"));
}

}  // namespace trainer
