#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <ctime>
#include <fstream>
#include <random>

#include "tests/engine/config/families.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

/// Processor time, so that a busy machine does not look like a slow reader.
double seconds_of(const std::string& yaml, std::string& message) {
  const std::clock_t start = std::clock();
  message = mistake_in(yaml);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

std::string repeated(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

/// A sound file of half a megabyte.
std::string many_blocks() {
  std::string yaml = "blocks:\n", layers;
  for (int i = 0; i < 15'000; ++i) {
    yaml += fmt::format("  b{}: {{layers: [relu]}}\n", i);
    layers += fmt::format("{}b{}", i == 0 ? "" : ", ", i);
  }
  return yaml + "model: {layers: [" + layers + "]}\ntrain: {epochs: 1}\n";
}

/// No mistake may cost more seconds. Under sanitizers and emulators, many times as slow, a second is not
/// enough for yaml-cpp alone: there it is three times what many_blocks() takes.
double soon() {
  static const double sound = [] {
    std::string message;
    const double seconds = seconds_of(many_blocks(), message);
    CHECK(message == "");
    return seconds;
  }();
  return std::max(1., 3 * sound);
}

}  // namespace

TEST_CASE("a file that is no configuration ends in a clear message", "[config]") {
  using Row = std::tuple<std::string, std::string>;
  const auto [yaml, expected] = GENERATE(table<std::string, std::string>({
      Row{"# nothing\n", "the file is empty"},
      Row{" ", "the file is empty"},
      Row{"~\n", "the file is empty"},
      Row{std::string("a\0b", 3), "not a text file"},
      Row{"a: \xff\xfe", "not a text file"},
      Row{"\x89PNG\r\n\x1a\n", "not a text file"},
      Row{"- a\n- b\n", "a configuration is a map of keys, got a list"},
      Row{"hello\n", "a configuration is a map of keys, got a text"},
      Row{"a: b: c\n", "not valid YAML"},
      Row{"a: [1, 2\n", "not valid YAML"},
      Row{"a: *nowhere\n", "not valid YAML"},
      Row{"a: &x [*x]\n", "an anchor's value contains itself"},
      Row{"train: {epochs: 1}\n---\nmodel: 1\n", "more than one YAML document"},
      Row{"? [a]\n: 1\n", "a key must be a text, got a list"},
      Row{std::string((1 << 20) + 1, '#'), "too large for a configuration"},
  }));
  INFO(yaml.substr(0, 80));
  CHECK_THAT(mistake_in(yaml), Catch::Contains(expected));
}

TEST_CASE("a file that is missing or a directory is named", "[config]") {
  CHECK_THROWS_WITH(ConfigTree({.file = "no/such.yaml"}, test_root()),
                    Catch::Contains("cannot read `no/such.yaml`: No such file"));
  const TemporaryFolder run;
  const std::string folder = run.path().string();
  const ConfigSource source{.file = folder};
  CHECK_THROWS_WITH(ConfigTree(source, test_root()),
                    Catch::Contains("is a directory") && !Catch::Contains("config.yaml"));
  std::ofstream(run.path() / "config.yaml") << "data: {}";
  CHECK_THROWS_WITH(ConfigTree(source, test_root()),
                    Catch::Contains("help: a run's configuration is " + folder + "/config.yaml"));
}

TEST_CASE("ten lines of aliases do not become 10^9 values", "[config]") {
  std::string yaml = "x-0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    yaml += fmt::format("x-{}: &a{} [{}{}]\n", i, i, repeated(below + ", ", 9), below);
  }
  std::string message;
  CHECK(seconds_of(yaml, message) < soon());
  CHECK_THAT(message, Catch::Contains("more than 100000 values, counting what aliases repeat"));
}

TEST_CASE("variables and blocks are no way around the bound", "[config]") {
  std::string vars = "vars:\n  v0: [relu]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string below = "{residual: $v" + std::to_string(i - 1) + "}";
    vars += fmt::format("  v{}: [{}, {}]\n", i, below, below);
  }
  std::string message;
  CHECK(seconds_of(vars + "model: {layers: $v39}\ntrain: {epochs: 1}\n", message) < soon());
  CHECK_THAT(message, Catch::Contains("more than 100000 values after blocks and repeats"));

  std::string blocks = "blocks:\n  b0: {layers: []}\n";
  for (int i = 1; i < 10; ++i)
    blocks += "  b" + std::to_string(i) + ": {layers: [{b" + std::to_string(i - 1) + ": {repeat: 10000}}]}\n";
  CHECK(seconds_of(blocks + "model: {layers: [b9]}\ntrain: {epochs: 1}\n", message) < soon());
  CHECK_THAT(message, Catch::Contains("more than 100000 values after blocks and repeats"));
  CHECK(seconds_of("vars: {a: [{residual: $a}]}\nmodel: {layers: $a}\ntrain: {epochs: 1}\n", message) <
        soon());
  CHECK_THAT(message, Catch::Contains("nested deeper than"));
}

TEST_CASE("100,000 levels of nesting end at once, whatever they are made of", "[config]") {
  const std::string bracket =
      GENERATE("[", "{", "- ", "{a: ", "[{", "? ", "&a [", "!t ", "a: [", "\"", "*", ": ");
  std::string message;
  INFO(bracket);
  CHECK(seconds_of(repeated(bracket, 100'000), message) < soon());
  CHECK_FALSE(message.empty());
  CHECK(message.size() < 2000);
}

TEST_CASE("blocks that contain each other may not do so without end", "[config]") {
  const auto chain = [](int blocks) {
    std::string yaml = fmt::format("blocks:\n  b{}: {{layers: [relu]}}\n", blocks);
    for (int i = 0; i < blocks; ++i) yaml += fmt::format("  b{}: {{layers: [b{}]}}\n", i, i + 1);
    return yaml + "model: {layers: [b0]}\ntrain: {epochs: 1}\n";
  };
  std::string message;
  CHECK(seconds_of(chain(19'000), message) < soon());
  CHECK_THAT(message, Catch::Contains("blocks nested deeper than 64 levels"));
  CHECK(mistake_in(chain(20)).empty());
}

TEST_CASE("nesting as deep as real files need is accepted, deeper is not", "[config]") {
  const auto nested = [](int levels) {
    return "model: {layers: [" + repeated("{residual: [", levels) + "relu" + repeated("]}", levels) +
           "]}\ntrain: {epochs: 1}\n";
  };
  CHECK(mistake_in(nested(20)).empty());
  CHECK_THAT(mistake_in(nested(40)), Catch::Contains("nested deeper than 64 levels"));
}

TEST_CASE("a file of ten thousand mistakes reports the first fifty", "[config]") {
  std::string yaml = "model: {layers: [relu]}\ntrain: {epochs: 1}\n";
  for (int i = 0; i < 10'000; ++i) yaml += "wrong" + std::to_string(i) + ": 1\n";
  std::string message;
  CHECK(seconds_of(yaml, message) < soon());
  CHECK_THAT(message, Catch::Contains("and 9950 more mistakes"));
}

TEST_CASE("random bytes and damaged files never crash", "[config]") {
  std::mt19937 random(1);
  const std::string alphabet = "[]{}:,-?&*!|>'\"%@`#~<$.ab01 \n\n\t";
  const std::string sound =
      "vars: {w: 3}\nblocks: {b: {args: {n: 1}, layers: [{dense: $n}]}}\n"
      "model: {layers: [{b: {n: $w, repeat: 2}}, &a {residual: [relu]}, *a]}\n"
      "train: {epochs: 1, optimizer: {sgd: {lr: 0.1}}}\n";
  REQUIRE(mistake_in(sound).empty());
  for (int i = 0; i < 3000; ++i) {
    std::string yaml = i % 3 == 0 ? std::string(random() % 200, ' ') : sound;
    const std::size_t changes = i % 3 == 0 ? yaml.size() : 1 + random() % 8;
    for (std::size_t k = 0; k < changes; ++k)
      yaml[random() % yaml.size()] =
          i % 3 == 1 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
    if (yaml.empty()) continue;
    std::string mistake = "not read";
    CHECK_NOTHROW(mistake = mistake_in(yaml));  // catches Error; anything else is a bug
    if (mistake.empty()) {
      const std::string resolved = tree_of(yaml).resolved_yaml();
      CHECK(tree_of(resolved).resolved_yaml() == resolved);
    }
    CHECK_NOTHROW(mistake_in(sound, {yaml}));
  }
}

TEST_CASE("invalid YAML is reported with its probable cause", "[config]") {
  const auto [yaml, cause] = GENERATE(table<const char*, const char*>({
      {"model: {layers: [relu]}\ntrain:\n  epochs: 1\n  batch 128  # of all\n  note: x\n",
       "this line has no colon"},
      {"model: {layers: [relu]}\ntrain:\n  epochs: 1\n  batch:128\n  note: x\n",
       "expects a space after its colon"},
      {"train: {epochs: 1}\nmodel\n  layers: [relu]\n", "the line before has no colon"},
      {"model:\n  layers:\n    - relu\n\t- relu\n", "this line is indented by a tab"},
      {"model: {layers: [{dense: {units: 1}]}\ntrain: {epochs: 1}\n", "is not closed"},
      {"model:\n  layers: [relu]\n   x: 1\ntrain: {epochs: 1}\n", "indented alike"},
  }));
  INFO(yaml);
  CHECK_THAT(mistake_in(yaml), Catch::Contains(cause));
}

}  // namespace trainer
