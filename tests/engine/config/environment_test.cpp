#include "engine/config/environment.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/engine/config/families.h"
#include "tests/support/environment_variable.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

std::string note_in(const std::string& written) {
  const ConfigTree tree = tree_of("model: {layers: [relu]}\ntrain:\n  epochs: 1\n  note: " + written + "\n");
  const std::string note = tree.root().at("train").get<std::string>("note");
  // What a run keeps repeats it, in whatever environment.
  const ConfigTree again = tree_of(tree.resolved_yaml());
  CHECK(again.root().at("train").get<std::string>("note") == note);
  return note;
}

}  // namespace

TEST_CASE("values name environment variables, in each kind of quotes or none", "[config]") {
  const EnvironmentVariable place("TRAINER_TEST_A", "/data"), number("TRAINER_TEST_N", "7"),
      empty("TRAINER_TEST_E", "");
  using Row = std::tuple<std::string, std::string>;
  const auto [written, expected] = GENERATE(table<std::string, std::string>({
      Row{"${TRAINER_TEST_A}", "/data"},
      Row{"${TRAINER_TEST_A}/a${TRAINER_TEST_N}", "/data/a7"},
      Row{"\"x ${TRAINER_TEST_A}\"", "x /data"},
      Row{"'${TRAINER_TEST_A}'", "/data"},
      Row{"${TRAINER_TEST_NONE:-a fallback}", "a fallback"},
      Row{"${TRAINER_TEST_A:-a fallback}", "/data"},
      Row{"${TRAINER_TEST_E:-a fallback}", "a fallback"},
      Row{"x${TRAINER_TEST_E}", "x"},
      Row{"$${TRAINER_TEST_A}", "${TRAINER_TEST_A}"},
      Row{"$$${TRAINER_TEST_A}", "$${TRAINER_TEST_A}"},
      Row{"a$${", "a${"},
      Row{"5 $ and {}", "5 $ and {}"},
      Row{"'$x'", "$x"},
  }));
  INFO(written);
  CHECK(note_in(written) == expected);
}

TEST_CASE("the value of an environment variable is a number or a text, never a name", "[config]") {
  const EnvironmentVariable number("TRAINER_TEST_N", "7"), name("TRAINER_TEST_V", "$width");
  const std::string model = "model: {layers: [{dense: $width}]}\nvars: {width: 3}\n";
  const ConfigTree tree =
      tree_of(model + "train: {epochs: \"${TRAINER_TEST_N}\", note: \"${TRAINER_TEST_V}\"}\n");
  CHECK(tree.root().at("train").get<int>("epochs") == 7);
  CHECK(tree.root().at("train").get<std::string>("note") == "$width");
  CHECK(tree.root().at("model").items("layers")[0].get<int>("units") == 3);
  // Variables of the file may come from the environment.
  CHECK(tree_of("model: {layers: [{dense: $width}]}\nvars:\n  width: ${TRAINER_TEST_N}\ntrain: {epochs: 1}\n")
            .root()
            .at("model")
            .items("layers")[0]
            .get<int>("units") == 7);
  CHECK(tree_of(model + "train: {epochs: 1}\n", {"train.epochs=${TRAINER_TEST_N}"})
            .root()
            .at("train")
            .get<int>("epochs") == 7);
  CHECK_THAT(mistake_in(model + "train:\n  epochs: ${TRAINER_TEST_V}\n"),
             Catch::Contains("a.yaml:4:11") && Catch::Contains("= its value is `$width`"));
  // Keys stay as they are.
  CHECK_THAT(mistake_in(model + "train: {epochs: 1, \"${TRAINER_TEST_N}\": 1}\n"),
             Catch::Contains("unknown key `${TRAINER_TEST_N}` in train"));
}

TEST_CASE("environment variables that are unset or misspelt are reported together, with their places",
          "[config]") {
  const std::string message = mistake_in(
      "model: {layers: [relu]}\ntrain:\n  epochs: ${TRAINER_TEST_N}\n  note: a/${TRAINER_TEST_A}\n");
  CHECK_THAT(message,
             Catch::Contains("the environment variable `TRAINER_TEST_N` is not set\n  --> a.yaml:3:11"));
  CHECK_THAT(message,
             Catch::Contains("the environment variable `TRAINER_TEST_A` is not set\n  --> a.yaml:4:11"));
  CHECK_THAT(message, Catch::Contains("^ `${TRAINER_TEST_A:-fallback}` works without it"));
  for (const char* const wrong : {"${", "${}", "${1A}", "${A B}", "${A-b}", "${A:-${B}}", "${A"})
    CHECK_THAT(
        mistake_in("model: {layers: [relu]}\ntrain:\n  epochs: 1\n  note: '" + std::string(wrong) + "'\n"),
        Catch::Contains("is no environment variable") && Catch::Contains("a.yaml:4:10"));
  CHECK_THAT(mistake_in("model: {layers: [relu]}\ntrain: {epochs: 1}\n", {"train.note=${TRAINER_TEST_A}"}),
             Catch::Contains("is not set\n  --> -s train.note=${TRAINER_TEST_A}"));
}

TEST_CASE("environment variables cannot fill the memory, or write to a terminal", "[config]") {
  const EnvironmentVariable large("TRAINER_TEST_A", std::string(100'000, 'a')),
      control("TRAINER_TEST_C", "\x1b[2J");
  std::string many;
  for (int i = 0; i < 20; ++i) many += "${TRAINER_TEST_A}";
  const std::string start = "model: {layers: [relu]}\ntrain:\n  epochs: 1\n  note: ";
  CHECK_THAT(mistake_in(start + many + "\n"), Catch::Contains("give more than 1048576 bytes"));
  CHECK_THAT(mistake_in(start + "${TRAINER_TEST_C}\n"), Catch::Contains("is not a text in UTF-8"));
}

TEST_CASE("later files change keys of earlier ones like those of a base", "[config]") {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder.path() / name) << text;
    return (folder.path() / name).string();
  };
  const std::string below = file("a.yaml",
                                 "vars: {width: 3, unused: 1}\nmodel: {layers: [{dense: $width}, relu]}\n"
                                 "train: {epochs: 5, optimizer: {sgd: {lr: 0.5, momentum: 0.1}}}\n"),
                    middle = file("b.yaml", "train: {steps: 9, optimizer: {sgd: {lr: 0.25}}, note: b}\n"),
                    last = file("c.yaml", "vars: {width: 4}\ntrain: {note: c}\n");
  const ConfigTree tree({.file = below, .over = {middle, last}, .overrides = {"train.optimizer.sgd.lr=1"}},
                        test_root());
  const Config train = tree.root().at("train");
  CHECK(train.get<int>("steps") == 9);
  CHECK_FALSE(train.has("epochs"));
  CHECK(train.at("optimizer").get<double>("lr") == 1);
  CHECK(train.at("optimizer").get<double>("momentum") == 0.1);
  CHECK(train.get<std::string>("note") == "c");
  CHECK(tree.root().at("model").items("layers")[0].get<int>("units") == 4);

  CHECK(tree.notes().empty());
  const std::string whole = file("e.yaml", "model: {layers: [relu]}\ntrain: {epochs: 1}\n");
  CHECK(ConfigTree({.file = below, .over = {whole}}, test_root()).notes() ==
        std::vector<std::string>{whole + " is a whole configuration: all its keys change " + below});

  const auto mistake_with = [&](const std::vector<std::string>& over) -> std::string {
    try {
      ConfigTree({.file = below, .over = over}, test_root());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(mistake_with({file("d.yaml", "train:\n  epoch: 1\n"), last}), Catch::Contains("d.yaml:2:3"));
  CHECK_THAT(mistake_with({file("d.yaml", "vars: {lost: 1}\n")}),
             Catch::Contains("nothing uses the variable `lost`") && Catch::Contains("d.yaml:1:8"));
  CHECK_THAT(mistake_with({"nowhere.yaml"}), Catch::Contains("cannot read `nowhere.yaml`"));
  CHECK_THAT(mistake_with({file("d.yaml", "base: d.yaml\n")}),
             Catch::Contains("has this file as its own base"));
}

}  // namespace trainer
