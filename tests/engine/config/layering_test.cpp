#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/engine/config/families.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

const std::string kRun =
    "model:\n  layers: [{dense: 10}, relu, {conv: {filters: 2, kernel: 3}}]\n"
    "train: {epochs: 5, optimizer: {sgd: {lr: 0.5, momentum: 0.1}}}\n";

/// Writes a file of a folder and gives its path.
std::string write(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  const std::filesystem::path path = folder.path() / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
  return path.string();
}

ConfigTree read(const std::string& file, const std::vector<std::string>& overrides = {}) {
  return ConfigTree({.file = file, .overrides = overrides}, test_root());
}

}  // namespace

TEST_CASE("an override replaces the value at its path and leaves the rest", "[config]") {
  const ConfigTree tree =
      tree_of(kRun, {"train.optimizer.sgd.lr=0.25", "model.layers[2].conv.kernel=[1, 2]",
                     "model.layers[0].dense.bias=false", "model.layers[1].relu.name=act", "train.batch=1e2"});
  const Config optimizer = tree.root().at("train").at("optimizer");
  CHECK(optimizer.get<double>("lr") == 0.25);
  CHECK(optimizer.get<double>("momentum") == 0.1);
  CHECK(tree.root().at("train").place() == "a.yaml:3:1");
  CHECK(tree.root().at("train").given("batch"));
  const auto layers = tree.root().at("model").items("layers");
  CHECK(layers[0].get<int>("units") == 10);
  CHECK_FALSE(layers[0].get<bool>("bias"));
  CHECK(layers[1].get<std::string>("name") == "act");
  CHECK(layers[2].get<int>("filters") == 2);
  CHECK(layers[2].get<std::vector<std::int64_t>>("kernel") == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("a null switches an optional setting off wherever it was set", "[config]") {
  const std::string file =
      "model: {layers: [{dense: {units: 4, name: out}}]}\n"
      "train: {epochs: 3, note: x, warmup: {epochs: 1}}\n";
  const auto train = [](const ConfigTree& tree) { return tree.root().at("train"); };
  REQUIRE(train(tree_of(file)).has("warmup"));
  for (const std::string null : {"~", "null", "Null"}) {
    const ConfigTree tree =
        tree_of(file, {"train.warmup=" + null, "train.note=" + null, "model.layers[0].dense.name=" + null});
    CHECK_FALSE(train(tree).has("warmup"));
    CHECK_FALSE(train(tree).given("warmup"));
    CHECK_FALSE(train(tree).has("note"));
    CHECK_FALSE(tree.root().at("model").items("layers")[0].has("name"));
    CHECK(tree.resolved_yaml().find("warmup") == std::string::npos);
    CHECK(tree_of(tree.resolved_yaml()).resolved_yaml() == tree.resolved_yaml());
  }
  CHECK_FALSE(train(tree_of("model: {layers: [relu]}\ntrain:\n  epochs: 1\n  note: ~\n")).has("note"));
  CHECK_FALSE(train(tree_of("vars: {w: ~}\nmodel: {layers: [relu]}\ntrain: {epochs: 1, warmup: $w}\n"))
                  .has("warmup"));
  // Also what `defaults` gave.
  const ConfigTree named = tree_of(
      "defaults: {dense: {label: a}}\n"
      "model: {layers: [{dense: {units: 1, label: ~}}, {dense: 2}]}\ntrain: {epochs: 1}\n");
  CHECK_FALSE(named.root().at("model").items("layers")[0].has("label"));
  CHECK(named.root().at("model").items("layers")[1].has("label"));
  // A later override sets it again.
  CHECK(train(tree_of(file, {"train.warmup=~", "train.warmup.steps=9"})).get<Duration>("warmup") ==
        Duration{false, 9});
}

TEST_CASE("a null for one of two exclusive keys leaves the other one", "[config]") {
  const std::string file = "model: {layers: [relu]}\ntrain: {steps: 5, epochs: ~}\n";
  CHECK(tree_of(file).root().at("train").get<int>("steps") == 5);
  CHECK(tree_of("model: {layers: [relu]}\ntrain: {steps: 5}\n", {"train.epochs=~"})
            .root()
            .at("train")
            .get<int>("steps") == 5);
  CHECK_THAT(mistake_in("model: {layers: [relu]}\ntrain: {epochs: ~}\n"),
             Catch::Contains("missing key `epochs` or `steps` in train"));
}

TEST_CASE("an override that replaces another member is noted with what it replaces", "[config]") {
  const std::string file =
      "model:\n  layers: [{dense: 4}]\n"
      "train: {epochs: 3, optimizer: {sgd: {lr: 0.1, momentum: 0.9}}}\n";
  using Notes = std::vector<std::string>;
  CHECK(tree_of(file, {"train.optimizer.adam.lr=0.01"}).notes() ==
        Notes{"-s train.optimizer.adam.lr=0.01 replaces `sgd` at a.yaml:3:32"});
  CHECK(tree_of(file, {"model.layers[0].conv={filters: 2, kernel: 3}"}).notes() ==
        Notes{"-s model.layers[0].conv={filters: 2, kernel: 3} replaces `dense` at a.yaml:2:13"});
  CHECK(tree_of(file, {"train.optimizer=adam", "train.optimizer.sgd.lr=1"}).notes() ==
        Notes{"-s train.optimizer.sgd.lr=1 replaces `adam` at -s train.optimizer=adam"});
  // No note for a value that stays, a member that is replaced as a whole, or a default.
  for (const char* const override :
       {"train.optimizer.sgd.lr=0.01", "train.optimizer=adam", "train.schedule.step.at={epochs: 1}"})
    CHECK(tree_of(file, {override}).notes().empty());
}

TEST_CASE("an override that names another member replaces the whole value", "[config]") {
  const auto optimizer = [](const std::string& override_text) {
    return tree_of(kRun, {override_text}).root().at("train").at("optimizer").type();
  };
  CHECK(optimizer("train.optimizer.adam.lr=0.1") == "adam");
  CHECK(optimizer("train.optimizer=adam") == "adam");
  CHECK(optimizer("train.optimizer={adam: {lr: 1}}") == "adam");
  const ConfigTree bare = tree_of(kRun, {"train.optimizer=sgd"});
  CHECK(bare.root().at("train").at("optimizer").get<double>("lr") == 0.01);
}

TEST_CASE("an override reaches into a default", "[config]") {
  const ConfigTree tree =
      tree_of("model: {layers: [relu]}\ntrain: {epochs: 1}\n", {"train.optimizer.sgd.lr=0.25"});
  CHECK(tree.root().at("train").at("optimizer").get<double>("momentum") == 0.9);
  CHECK(tree.root().at("train").at("optimizer").get<double>("lr") == 0.25);
}

TEST_CASE("an override of steps takes epochs out, and the other way round", "[config]") {
  const ConfigTree steps = tree_of(kRun, {"train.steps=20"});
  CHECK(steps.root().at("train").get<int>("steps") == 20);
  CHECK_FALSE(steps.root().at("train").has("epochs"));
  const ConfigTree back = tree_of(kRun, {"train.steps=20", "train.epochs=2"});
  CHECK(back.root().at("train").get<int>("epochs") == 2);
  CHECK_FALSE(back.root().at("train").has("steps"));
  const ConfigTree unit =
      tree_of(kRun, {"train.warmup.epochs=1", "train.warmup.steps=3", "train.evaluate.steps=7"});
  CHECK(unit.root().at("train").get<Duration>("warmup").count == 3);
  CHECK(unit.root().at("train").get<Duration>("evaluate").count == 7);
}

TEST_CASE("overrides reach variables, blocks and defaults", "[config]") {
  const ConfigTree tree = tree_of(
      "vars: {width: 3}\nblocks: {b: {layers: [{dense: $width}]}}\n"
      "model: {layers: [b]}\ntrain: {epochs: 1}\n",
      {"vars.width=8", "blocks.b.layers[0].dense.bias=false", "defaults.init.normal=2"});
  const Config dense = tree.root().at("model").items("layers")[0];
  CHECK_FALSE(dense.get<bool>("bias"));
  CHECK(dense.at("init").get<double>("std") == 2);
}

TEST_CASE("an override that leads nowhere is refused, with its text as the place", "[config]") {
  using Row = std::tuple<std::string, std::string>;
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      Row{"train.epochs", "-s expects KEY=VALUE, got `train.epochs`"},
      Row{"=3", "-s expects KEY=VALUE"},
      Row{"train..epochs=3", "not a path"},
      Row{"train.layers[x]=3", "not a path"},
      Row{"train.layers[1=3", "not a path"},
      Row{"[0]=3", "not a path"},
      Row{"train.epohcs=3", "unknown key `epohcs` in train\n  --> -s train.epohcs=3\n"},
      Row{"train.epohcs=3", "help: did you mean `epochs`?"},
      Row{"trian.epochs=3", "help: did you mean `train`?"},
      Row{"epochs=3", "help: did you mean `train.epochs`?"},
      Row{"lr=3", "help: did you mean `train.optimizer.NAME.lr`?"},
      Row{"model.layers[1].conv.kernel=3", "it replaces `relu`, which is model.layers[1] at a.yaml:2:25"},
      Row{"train.epochs.x=3", "`train.epochs` is one value"},
      Row{"train[0]=3", "`train` is not a list"},
      Row{"model.layers[7].dense.units=3", "no `model.layers[7]`: the list has 3 entries, from [0]"},
      Row{"train.epochs=", "`epochs` has no value"},
      Row{"train.epochs=[1", "not valid YAML"},
      Row{"train.optimizer.sdg.lr=1", "unknown optimizer `sdg`"},
      Row{"vars.width=3", "nothing uses the variable `width`"},
      Row{"base=x.yaml", "-s cannot set `base`"},
  }));
  INFO(text);
  const std::string message = mistake_in(kRun, {text});
  CHECK_THAT(message, Catch::Contains(expected));
  CHECK_THAT(message, Catch::Contains("\n  --> -s " + text));
}

TEST_CASE("a base's maps merge, its lists are replaced, and another member replaces the whole value",
          "[config]") {
  const TemporaryFolder folder;
  write(folder, "below/base.yaml",
        "vars: {width: 3, unused: 1}\nx-a: {b: 1}\ndefaults: {init: {normal: 1}}\n"
        "model: {layers: [relu, relu]}\n"
        "train: {epochs: 5, optimizer: {sgd: {lr: 0.5, momentum: 0.1}}, metrics: [accuracy], "
        "schedule: {step: {epochs: [1]}}, evaluate: {steps: 3}}\n");
  const std::string file =
      write(folder, "run.yaml",
            "base: below/base.yaml\ndefaults: {init: {uniform: 2}}\nmodel: {layers: [{dense: $width}]}\n"
            "train: {optimizer: {sgd: {lr: 0.25}}, steps: 9, schedule: {step: {factor: 0.5}}, "
            "evaluate: {epochs: 2}}\n");
  const ConfigTree tree = read(file);
  const Config train = tree.root().at("train");
  CHECK(train.at("optimizer").get<double>("lr") == 0.25);
  CHECK(train.at("optimizer").get<double>("momentum") == 0.1);
  CHECK(train.get<int>("steps") == 9);
  CHECK_FALSE(train.has("epochs"));
  CHECK(train.items("metrics").size() == 1);
  CHECK(train.at("schedule").get<std::vector<Duration>>("at")[0].count == 1);
  CHECK(train.at("schedule").get<double>("factor") == 0.5);
  CHECK(train.get<Duration>("evaluate").in_epochs);
  const auto layers = tree.root().at("model").items("layers");
  REQUIRE(layers.size() == 1);
  CHECK(layers[0].get<int>("units") == 3);
  CHECK(layers[0].at("init").type() == "uniform");
  const ConfigTree other = read(write(folder, "other.yaml", "base: run.yaml\ntrain: {optimizer: adam}\n"));
  CHECK(other.root().at("train").at("optimizer").type() == "adam");
}

TEST_CASE("a base that is missing, wrong or its own base is reported at the key", "[config]") {
  const TemporaryFolder folder;
  const std::string file = write(folder, "a.yaml", "base: nowhere.yaml\n");
  CHECK_THROWS_WITH(read(file), Catch::Contains("cannot read") && Catch::Contains("a.yaml:1:7"));
  write(folder, "a.yaml", "base: b.yaml\n");
  write(folder, "b.yaml", "base: a.yaml\n");
  CHECK_THROWS_WITH(read(file), Catch::Contains("has this file as its own base"));
  write(folder, "a.yaml", "base: [b.yaml]\n");
  CHECK_THROWS_WITH(read(file), Catch::Contains("`base` expects the name of a file, got a list"));
  write(folder, "a.yaml", "base: b.yaml\n");
  write(folder, "b.yaml", "model: {layers: [relu]}\ntrain: {epochs: x}\n");
  CHECK_THROWS_WITH(read(file), Catch::Contains("b.yaml:2:17"));
}

TEST_CASE("no base leads out of the folder of the configuration, be it by a link", "[config]") {
  const TemporaryFolder folder;
  const std::string sound = write(folder, "outside.yaml", kRun);
  const auto reads = [&](const std::string& base) {
    return read(write(folder, "runs/a.yaml", "base: " + base + "\n"));
  };
  write(folder, "runs/below/b.yaml", "base: ../c.yaml\n");
  write(folder, "runs/c.yaml", kRun);
  CHECK_NOTHROW(reads("below/b.yaml"));
  CHECK_NOTHROW(reads("below/../c.yaml"));
  std::filesystem::create_symlink(sound, folder.path() / "runs/link.yaml");
  std::filesystem::create_directory_symlink("..", folder.path() / "runs/up");
  write(folder, "runs/below/b.yaml", "base: ../../outside.yaml\n");
  for (const std::string base :
       {"../outside.yaml", "link.yaml", "up/outside.yaml", "below/b.yaml", "/dev/zero"})
    CHECK_THROWS_WITH(reads(base), Catch::Contains("lies outside the folder of the configuration"));
  CHECK_THROWS_WITH(reads(sound), Catch::Contains("lies outside the folder of the configuration"));
  // Reading it would wait for a writer.
  REQUIRE(::mkfifo((folder.path() / "runs/pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(reads("pipe"), Catch::Contains("is not a file"));
  CHECK_THROWS_WITH(reads("."), Catch::Contains("outside") || Catch::Contains("is not a file"));
}

}  // namespace trainer
