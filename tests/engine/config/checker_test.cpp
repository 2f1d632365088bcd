#include <catch2/catch.hpp>

#include "tests/engine/config/families.h"

namespace trainer {
namespace {

/// A sound run whose train section resumes with `lines`.
std::string with_train(const std::string& lines) {
  return "model: {layers: [relu]}\ntrain:\n  epochs: 1\n" + lines;
}

std::string with_layer(const std::string& layer) {
  return "train: {epochs: 1}\nmodel:\n  layers:\n    - " + layer + "\n";
}

}  // namespace

TEST_CASE("an unknown key is shown in its line, with the key that was meant", "[config]") {
  CHECK(mistake_in(with_layer("conv: {filter: 16, kernel: 5}")) ==
        "error: unknown key `filter` in conv\n"
        "  --> a.yaml:4:14\n"
        "4 |     - conv: {filter: 16, kernel: 5}\n"
        "  |              ^^^^^^ did you mean `filters`?\n"
        "   = conv takes filters, kernel, stride, pad, bias, activation, name, init");
}

TEST_CASE("a letter O in a number is distinguished from a zero", "[config]") {
  CHECK(mistake_in(with_train("  optimizer: {sgd: {lr: O.01, momentum: 0.9}}\n")) ==
        "error: `lr` expects a number, got a text\n"
        "  --> a.yaml:4:25\n"
        "4 |   optimizer: {sgd: {lr: O.01, momentum: 0.9}}\n"
        "  |                         ^^^^ a letter O, not a zero?");
}

TEST_CASE("an override is a place too", "[config]") {
  CHECK(mistake_in(with_train(""), {"train.optimizer.sgd.lr=O.01"}) ==
        "error: `lr` expects a number, got a text\n"
        "  --> -s train.optimizer.sgd.lr=O.01\n"
        "help: a letter O, not a zero?");
}

TEST_CASE("all mistakes of a file are reported together, in its order", "[config]") {
  const std::string text = mistake_in(
      "train: {epochs: -1, bach: 5}\n"
      "model: {layers: [{conv: {filters: 0, kernel: 3}}, rely, dense]}\n");
  const std::vector<std::string> expected{
      "`epochs` must be at least 0, got -1", "unknown key `bach` in train",
      "`filters` must be at least 1, got 0", "unknown layer `rely`", "missing key `units` in dense"};
  std::size_t at = 0;
  for (const std::string& one : expected) {
    INFO(text);
    const std::size_t found = text.find(one, at);
    REQUIRE(found != std::string::npos);
    at = found;
  }
}

TEST_CASE("a value of the wrong form or size is an error with the correction", "[config]") {
  using Row = std::tuple<std::string, std::string>;
  const auto [lines, expected] = GENERATE(table<std::string, std::string>({
      Row{"  batch: 010\n", "`batch` expects a whole number, got `010`"},
      Row{"  batch: 010\n", "^^^ without leading zeros"},
      Row{"  batch: 0x10\n", "`batch` expects a whole number, got a text"},
      Row{"  batch: 2.5\n", "`batch` expects a whole number, got `2.5`"},
      Row{"  batch: \"5\"\n", "^^^ without the quotes"},
      Row{"  batch: 99999999999999999999\n", "`batch` is too large"},
      Row{"  batch: 1e400\n", "`batch` is too large"},
      Row{"  batch: [1]\n", "`batch` expects a whole number, got a list"},
      Row{"  batch: 1_000\n", "digits only"},
      Row{"  batch: ~\n", "`batch` has no value"},
      Row{"  batch:\n", "4:3\n4 |   batch:\n  |   ^^^^^"},
      Row{"  batch: null\n", "`batch` has no value"},
      Row{"  note:\n", "`note` has no value"},
      Row{"  note:\n", "`note: ~` switches it off"},
      Row{"  warmup: # later\n  note: x\n", "`warmup` has no value"},
      Row{"  note: [a]\n", "`note` expects a text, got a list"},
      Row{"  shuffle: yes\n", "`shuffle` expects true or false, got `yes`"},
      Row{"  shuffle: yes\n", "^^^ write `true`"},
      Row{"  shuffle: off\n", "^^^ write `false`"},
      Row{"  shuffle: Y\n", "^ write `true`"},
      Row{"  shuffle: 'true'\n", "without the quotes"},
      Row{"  optimizer: {sgd: {lr: 0}}\n", "`lr` must be above 0, got 0"},
      Row{"  optimizer: {sgd: {lr: .inf}}\n", "`lr` expects a number, got a text"},
      Row{"  optimizer: {sgd: {lr: true}}\n", "`lr` expects a number, got true"},
      Row{"  optimizer: {sgd: {momentum: 1}}\n", "`momentum` must be at least 0 and below 1, got 1"},
      Row{"  optimizer: sdg\n", "unknown optimizer `sdg`"},
      Row{"  optimizer: sdg\n", "^^^ did you mean `sgd`?"},
      Row{"  optimizer: zzzzzz\n", "= known: adam, sgd"},
      Row{"  optimizer: {sgd: {}, adam: {}}\n", "one optimizer is one key, got `sgd` and `adam`"},
      Row{"  optimizer: []\n", "`optimizer` expects the name of an optimizer, got a list"},
      Row{"  optimizer: {sgd: }\n", "`sgd` has no value"},
      Row{"  optimizer: {sgd: 0.1}\n", "`sgd` expects a map of settings, got `0.1`"},
      Row{"  optimizer: {sgd: 0.1}\n", "^^^ write `sgd: {lr: 0.1}`\n   = sgd takes lr, momentum, nesterov"},
      Row{"  optimizer: {sgd:0.1}\n", "^^^^^^^ a space after the colon?"},
      Row{"  warmup: 5\n",
          "got `5`\n  --> a.yaml:4:11\n4 |   warmup: 5\n  |           ^ write `{epochs: 5}`"},
      Row{"  warmup: {epoch: 5}\n", "^^^^^ did you mean `epochs`?"},
      Row{"  warmup: {epochs: -1}\n", "`warmup` must be from 0 to 1000000000, got -1"},
      Row{"  evaluate: epohc\n", "^^^^^ did you mean `epoch`?"},
      Row{"  evaluate: {steps: 0}\n", "`evaluate` must be from 1 to 1e+12, got 0"},
      Row{"  evaluate: [1]\n",
          "`evaluate` expects `epoch`, `end`, `never`, {epochs: n} or {steps: n}, got a list"},
      Row{"  metrics: accuracy\n", "^^^^^^^^ in brackets?"},
      Row{"  metrics: [accuracy, ~]\n", "`metrics[1]` has no value"},
      Row{"  steps: 4\n", "`steps` and `epochs` exclude each other"},
  }));
  INFO(lines);
  CHECK_THAT(mistake_in(with_train(lines)), Catch::Contains(expected));
}

TEST_CASE("a layer that is written wrongly is an error with the correction", "[config]") {
  using Row = std::tuple<std::string, std::string>;
  const auto [layer, expected] = GENERATE(table<std::string, std::string>({
      Row{"cnov: 3", "^^^^ did you mean `conv`?"},
      Row{"dense", "missing key `units` in dense"},
      Row{"dense", "= `units`: outputs"},
      Row{"relu: 3", "`relu` expects a map of settings, got `3`\n  --> a.yaml:4:13"},
      Row{"relu:", "`relu` has no value"},
      Row{"relu: {alpha: 1}", "= relu takes name, init"},
      Row{"conv: {filters: 1, kernel: [1, 2, 3]}", "`kernel` expects 2 numbers, got 3"},
      Row{"conv: {filters: 1, kernel: 3, pad: smae}", "^^^^ did you mean `same`?"},
      Row{"conv: {filters: 1, kernel: 3, activation: rleu}", "`activation` must be `none`, `relu` or `tanh`"},
      Row{"dense: {units: 1, units: 2}", "duplicate key `units`"},
      Row{"dense: {units: 1, name: [x]}", "`name` expects a text, got a list"},
      Row{"dense: {units: 1, repeat: 0}", "`repeat` must be from 1 to 10000, got 0"},
      Row{"dense: {units: $unts}", "unknown name `$unts`"},
      Row{"dense: 1\n      name: x", "a setting of dense? then in its map"},
      Row{"!!str relu", "YAML tags are not used here"},
  }));
  INFO(layer);
  CHECK_THAT(mistake_in(with_layer(layer)), Catch::Contains(expected));
}

TEST_CASE("a former name of a key or member is refused with the name of today", "[config]") {
  CHECK(mistake_in(with_train("  remark: x\n")) ==
        "error: `remark` is now called `note`\n"
        "  --> a.yaml:4:3\n"
        "4 |   remark: x\n"
        "  |   ^^^^^^ write `note`");
  CHECK(mistake_in(with_train(""), {"train.remark=x"}) ==
        "error: `remark` is now called `note`\n"
        "  --> -s train.remark=x\n"
        "help: write `note`");
  // Nor is the new key reported as missing.
  CHECK(mistake_in(with_layer("conv: {maps: 3, kernel: 3}")) ==
        "error: `maps` is now called `filters`\n"
        "  --> a.yaml:4:14\n"
        "4 |     - conv: {maps: 3, kernel: 3}\n"
        "  |              ^^^^ write `filters`");
  CHECK_THAT(mistake_in("defaults: {conv: {maps: 3}}\n" + with_layer("relu")),
             Catch::StartsWith("error: `maps` is now called `filters`\n  --> a.yaml:1:19"));
  CHECK_THAT(mistake_in("defaults: {drop: {rate: 0.5}}\n" + with_layer("relu")),
             Catch::StartsWith("error: `drop` is now called `dropout`\n  --> a.yaml:1:12"));
  for (const char* const layer : {"drop: 0.5", "drop: {rate: 0.5}", "drop"})
    CHECK_THAT(mistake_in(with_layer(layer)),
               Catch::StartsWith("error: `drop` is now called `dropout`\n  --> a.yaml:4:7") &&
                   Catch::EndsWith("^^^^ write `dropout`"));
}

TEST_CASE("former names are in no schema and no reference", "[config]") {
  for (const std::string& text : {json_schema(test_root()), key_reference(test_root())})
    for (const char* const former : {"remark", "\"maps", "\"drop\"", "`maps`", "`drop`"})
      CHECK_THAT(text, !Catch::Contains(former));
}

TEST_CASE("the top of a file is checked like the rest", "[config]") {
  CHECK_THAT(mistake_in("train: {epochs: 1}\n"), Catch::Contains("missing key `model`\n  --> a.yaml"));
  CHECK_THAT(mistake_in("modle: {layers: [relu]}\ntrain: {epochs: 1}\n"),
             Catch::Contains("did you mean `model`?") && !Catch::Contains("missing"));
  CHECK_THAT(mistake_in("model: {layers: [relu]}\ntrain: {}\n"),
             Catch::Contains("missing key `epochs` or `steps` in train"));
  CHECK_THAT(mistake_in("model: {layers: [relu]}\ntrain:\n"), Catch::Contains("`train` has no value"));
  CHECK_THAT(mistake_in("model: {layers: [relu]}\ntrain: 3\n"),
             Catch::Contains("`train` expects a map, got a text"));
}

TEST_CASE("whole numbers may be written as 1e3 or 5.0, decimals without a zero", "[config]") {
  const ConfigTree tree = tree_of(with_train("  batch: 1e3\n  optimizer: {sgd: {lr: .5}}\n"));
  CHECK(tree.root().at("train").get<int>("batch") == 1000);
  CHECK(tree.root().at("train").at("optimizer").get<double>("lr") == 0.5);
  CHECK(tree_of(with_train("  batch: 5.0\n")).root().at("train").get<int>("batch") == 5);
}

TEST_CASE("what YAML 1.1 takes for a boolean is a text where a text is expected", "[config]") {
  const std::string word = GENERATE("yes", "on", "NO", "true", "010", "1e3");
  CHECK(tree_of(with_train("  note: " + word + "\n")).root().at("train").get<std::string>("note") == word);
}

TEST_CASE("a number too large for int is the user's mistake, not undefined", "[config]") {
  const ConfigTree tree = tree_of(with_train("  batch: 4294967296\n"));
  CHECK(tree.root().at("train").get<std::int64_t>("batch") == 4294967296);
  CHECK_THROWS_AS(tree.root().at("train").get<int>("batch"), Error);
}

TEST_CASE("control characters of a file do not reach the terminal", "[config]") {
  const std::string text = mistake_in(with_train("  \"a\\e[31m\": 1\n"));
  CHECK_THAT(text, Catch::Contains("unknown key `a\\x1b[31m`"));
}

TEST_CASE("a long line is shown around the mistake", "[config]") {
  const std::string text = mistake_in(
      with_train("  note: " + std::string(500, 'x') + "\n  bach: " + std::string(500, 'y') + "\n"));
  CHECK_THAT(text, Catch::Contains("^^^^ did you mean `batch`?"));
  CHECK(text.size() < 600);
}

TEST_CASE("columns count characters, not bytes", "[config]") {
  CHECK_THAT(mistake_in(with_train("  optimizer: {sgd: {\"é\": 1}}\n")),
             Catch::Contains("a.yaml:4:21\n4 |   optimizer: {sgd: {\"é\": 1}}\n  |                     ^^^"));
}

}  // namespace trainer
