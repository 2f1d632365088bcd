#include "engine/config/config.h"

#include <catch2/catch.hpp>

#include "tests/engine/config/families.h"

namespace trainer {
namespace {

const std::string kRun =
    "model:\n"
    "  layers:\n"
    "    - conv: {filters: 16, kernel: 5, activation: relu}\n"
    "    - relu\n"
    "    - conv: {filters: 8, kernel: [3, 5], pad: same, bias: false}\n"
    "    - residual: [relu, {dense: 4}]\n"
    "    - dense: 10\n"
    "train:\n"
    "  epochs: 5\n"
    "  optimizer: {sgd: {lr: 0.05}}\n"
    "  schedule: {step: {at: {epochs: [82, 123]}}}\n"
    "  metrics: [accuracy, top_k: 5]\n";

}  // namespace

TEST_CASE("the values of a file are read, with defaults for the rest", "[config]") {
  const ConfigTree tree = tree_of(kRun);
  const Config train = tree.root().at("train");
  CHECK(train.get<int>("epochs") == 5);
  CHECK_FALSE(train.has("steps"));
  CHECK_FALSE(train.has("warmup"));
  CHECK(train.get<std::int64_t>("batch") == 128);
  CHECK(train.given("epochs"));
  CHECK_FALSE(train.given("batch"));
  CHECK(train.is_word("evaluate", "epoch"));
  CHECK(train.at("optimizer").type() == "sgd");
  CHECK(train.at("optimizer").get<float>("lr") == 0.05f);
  CHECK(train.at("optimizer").get<double>("momentum") == 0);
  const auto at = train.at("schedule").get<std::vector<Duration>>("at");
  REQUIRE(at.size() == 2);
  CHECK((at[1].in_epochs && at[1].count == 123));
  CHECK(train.items("metrics")[1].get<int>("k") == 5);

  const std::vector<Config> layers = tree.root().at("model").items("layers");
  REQUIRE(layers.size() == 5);
  CHECK(layers[0].type() == "conv");
  CHECK(layers[0].get<std::vector<std::int64_t>>("kernel") == std::vector<std::int64_t>{5, 5});
  CHECK(layers[2].get<std::vector<std::int64_t>>("kernel") == std::vector<std::int64_t>{3, 5});
  CHECK(layers[2].is_word("pad", "same"));
  CHECK_FALSE(layers[0].is_word("pad", "same"));
  CHECK_FALSE(layers[2].get<bool>("bias"));
  CHECK(layers[2].path() == "model.layers[2].conv");
  CHECK(layers[2].place() == "a.yaml:5:7");
  CHECK(layers[3].items("body")[1].get<int>("units") == 4);
  CHECK(layers[4].at("init").type() == "glorot");
}

TEST_CASE("a default inside a family's default is the member's own", "[config]") {
  const ConfigTree tree = tree_of("model: {layers: [relu]}\ntrain: {steps: 3}\n");
  const Config optimizer = tree.root().at("train").at("optimizer");
  CHECK(optimizer.get<double>("momentum") == 0.9);
  CHECK(optimizer.get<double>("lr") == 0.01);
  CHECK_FALSE(optimizer.given("momentum"));
  CHECK(optimizer.place().empty());
}

TEST_CASE("a complaint points at the value, or at the layer where the key was not written", "[config]") {
  const ConfigTree tree = tree_of(kRun);
  const Config conv = tree.root().at("model").items("layers")[2];
  CHECK(conv.diagnostic("kernel", "too large", "smaller").text() ==
        "error: too large\n"
        "  --> a.yaml:5:34\n"
        "5 |     - conv: {filters: 8, kernel: [3, 5], pad: same, bias: false}\n"
        "  |                                  ^\n"
        "help: smaller");
  CHECK(conv.diagnostic("stride", "too large").place == "a.yaml:5:7");
  CHECK(conv.diagnostic("", "does not fit").excerpt ==
        "5 |     - conv: {filters: 8, kernel: [3, 5], pad: same, bias: false}\n"
        "  |       ^^^^");
  CHECK_THROWS_AS(conv.fail("kernel", "too large"), Error);
}

TEST_CASE("reading a key that is not declared is a bug", "[config]") {
  const ConfigTree tree = tree_of(kRun);
  CHECK_THROWS_AS(tree.root().at("train").get<int>("lr"), std::logic_error);
  CHECK_THROWS_AS(tree.root().at("train").get<std::string>("epochs"), std::logic_error);
  CHECK_THROWS_AS(tree.root().at("train").get<int>("steps"), std::logic_error);
}

TEST_CASE("one member is read from text", "[config]") {
  const ConfigTree tree = ConfigTree::member("layer", "conv: {filters: 4, kernel: 3}");
  CHECK(tree.root().type() == "conv");
  CHECK(tree.root().get<int>("filters") == 4);
  CHECK(ConfigTree::member("layer", "relu").root().type() == "relu");
  CHECK_THROWS_AS(ConfigTree::member("layer", "rely"), Error);
}

TEST_CASE("$classes is known once the data is open", "[config]") {
  ConfigTree tree = layers_of("[{dense: {units: $classes}}]");
  const Config dense = tree.root().at("model").items("layers")[0];
  CHECK_THROWS_AS(dense.get<int>("units"), std::logic_error);
  tree.define("classes", "10");
  CHECK(dense.get<int>("units") == 10);
  ConfigTree regression = layers_of("[dense: $classes]");
  CHECK_THROWS_WITH(regression.define("classes", ""), Catch::Contains("the data gives no `$classes`"));
}

}  // namespace trainer
