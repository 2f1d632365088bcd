#include "models/training/settings.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "engine/config/config_tree.h"
#include "engine/config/declared.h"
#include "engine/config/synonyms.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

TrainSettings settings(const std::string& train) {
  const ConfigTree tree({.file = "test.yaml",
                         .text = "data: {dataset: digits}\nmodel: {layers: [{dense: 2}], loss: mse}\n"
                                 "train: {batch: 8, optimizer: {sgd: {lr: 0.1}}, " +
                                 train + "}\n"},
                        run_settings());
  return train_settings(tree.root().at("train"));
}

/// Names of keys, words of values, and members by family, of all that is declared.
struct Known {
  std::set<std::string> keys, values;

  void add(const std::vector<Setting>& settings) {
    for (const Setting& setting : settings) {
      keys.insert(setting.name);
      values.insert(setting.choices.begin(), setting.choices.end());
      add(setting.nested);
    }
  }
};

}  // namespace

TEST_CASE("the loss of classes brings the metric accuracy, and minimal YAML shows other metrics",
          "[training]") {
  const auto minimal = [](const std::string& loss, const std::string& metrics) {
    return ConfigTree({.file = "test.yaml",
                       .text = "data: {dataset: digits}\nmodel: {layers: [{dense: 10}], loss: " + loss +
                               "}\ntrain: {epochs: 1" + metrics + "}\n"},
                      run_settings())
        .minimal_yaml();
  };
  const std::string classes = minimal("softmax_cross_entropy", "");
  CHECK(classes.find("metrics") == std::string::npos);
  CHECK(classes == minimal("softmax_cross_entropy", ", metrics: [accuracy], batch: 32"));
  CHECK(minimal("softmax_cross_entropy", ", metrics: []").find("metrics: []") != std::string::npos);
  CHECK(minimal("mse", ", metrics: []").find("metrics") == std::string::npos);
  CHECK(minimal("mse", ", metrics: [accuracy]").find("metrics: [accuracy]") != std::string::npos);
}

TEST_CASE("what other programs call by another name exists here", "[training]") {
  Known known;
  known.add(run_settings());
  for (const auto& [name, family] : Catalog::all().families()) {
    known.add(family.shared);
    for (const auto& [member, declaration] : family.members) known.add(declaration.settings);
  }
  known.keys.insert({"repeat", "train", "model", "data"});
  for (const Synonyms& one : synonyms()) {
    if (one.kind == "command" || one.kind == "flag" || one.kind == "choice") continue;
    const std::string name(one.name);
    INFO(one.kind << " " << name);
    if (one.kind == "key")
      CHECK(known.keys.contains(name));
    else if (one.kind == "value")
      CHECK(known.values.contains(name));
    else
      CHECK(Catalog::all().at(std::string(one.kind)).members.contains(name));
  }
}

TEST_CASE("a word is what is written alike, else its synonym, else the nearest", "[training]") {
  const std::vector<std::string> layers = names_of(Catalog::all().at("layer"));
  CHECK(meaning_of("layer", "Max_Pool", layers).name == "max_pool");
  CHECK(meaning_of("layer", "LinearLayer", layers).name == "dense");
  CHECK(meaning_of("layer", "drpout", layers).hint == "did you mean `dropout`?");
  CHECK(meaning_of("layer", "xyzzy", layers).hint.empty());
  CHECK(meaning_of("layer", "---", layers).hint.empty());
  CHECK(meaning_of("loss", "linear", {"mse"}).hint.empty());
  CHECK(path_of_meant_key("learning-rate", run_settings()) == "train.optimizer.NAME.lr");
  CHECK(path_of_meant_key("patience", run_settings()) == "train.early_stopping.patience");
  CHECK(path_of_meant_key("xyzzy", run_settings()).empty());
}

TEST_CASE("a snapshot is taken every so many steps, where that is asked for", "[training]") {
  CHECK(settings("epochs: 1").snapshot == 0);
  CHECK(settings("epochs: 1, snapshot: {steps: 20}").snapshot == 20);
  CHECK_THROWS_AS(settings("epochs: 1, snapshot: {steps: 0}"), Error);
  CHECK_THROWS_AS(settings("epochs: 1, snapshot: {}"), Error);
}

TEST_CASE("a cadence is due at its moments and, but for never, at the end", "[training]") {
  using Kind = Cadence::Kind;
  CHECK(Cadence{Kind::epochs}.due(20, 10, 25));
  CHECK_FALSE(Cadence{Kind::epochs}.due(21, 10, 25));
  CHECK(Cadence{Kind::epochs}.due(25, 10, 25));
  CHECK_FALSE(Cadence{Kind::end}.due(20, 10, 25));
  CHECK(Cadence{Kind::end}.due(25, 10, 25));
  CHECK_FALSE(Cadence{Kind::never}.due(25, 10, 25));
  CHECK(Cadence{Kind::steps, 7}.due(14, 10, 25));
  CHECK_FALSE(Cadence{Kind::steps, 7}.due(10, 10, 25));
  CHECK(Cadence{Kind::epochs}.due(0, 10, 0));
  CHECK(Cadence{Kind::epochs, 2}.due(20, 10, 45));
  CHECK_FALSE(Cadence{Kind::epochs, 2}.due(30, 10, 45));
  CHECK_FALSE(Cadence{Kind::minutes, 1, 5}.due(30, 10, 45));
  CHECK(Cadence{Kind::minutes, 1, 5}.due(45, 10, 45));
}

TEST_CASE("the length of a run follows from its epochs or its steps", "[training]") {
  CHECK(settings("epochs: 3").total_steps(10) == 30);
  CHECK(settings("steps: 17").total_steps(10) == 17);
  CHECK(settings("epochs: 0").total_steps(10) == 0);
}

TEST_CASE("evaluation and checkpoints take a word or a number of steps", "[training]") {
  CHECK(settings("epochs: 1").evaluate.kind == Cadence::Kind::epochs);
  CHECK(settings("epochs: 1, evaluate: end").evaluate.kind == Cadence::Kind::end);
  CHECK(settings("epochs: 1, checkpoint: never").checkpoint.kind == Cadence::Kind::never);
  CHECK(settings("epochs: 1, checkpoint: {keep: 7}").keep == 7);
  CHECK(settings("epochs: 1, checkpoint: {keep: 7}").checkpoint.kind == Cadence::Kind::epochs);
  CHECK(settings("epochs: 1, checkpoint: {minutes: 0.5}").checkpoint.minutes == 0.5);
  CHECK(settings("epochs: 1, checkpoint: {epochs: 3}").checkpoint.count == 3);
  CHECK_THROWS_WITH(settings("epochs: 1, checkpoint: {epochs: 3, minutes: 1}"),
                    Catch::Contains("takes one interval, got two"));
  const Cadence cadence = settings("epochs: 1, evaluate: {steps: 50}").evaluate;
  CHECK(cadence.kind == Cadence::Kind::steps);
  CHECK(cadence.count == 50);
}

TEST_CASE("accumulate takes a number, or the memory that chooses it", "[training]") {
  CHECK(settings("epochs: 1, accumulate: 4").accumulate == 4);
  CHECK_FALSE(settings("epochs: 1, accumulate: 4").memory_limit);
  CHECK(settings("epochs: 1, accumulate: {fit: 1.5 GiB}").memory_limit == 3 * (1LL << 29));
  CHECK(settings("epochs: 1, accumulate: {fit: 200MB}").memory_limit == 200'000'000);
  for (const char* const size : {"4", "GiB", "4 Gib", "-1GiB", "nanGiB", "1e3GiB", "9999999TiB", "0.1B"})
    CHECK_THROWS_WITH(settings(std::string("epochs: 1, accumulate: {fit: ") + size + "}"),
                      Catch::Contains("`fit` expects a size with its unit"));
  CHECK_THROWS_WITH(settings("epochs: 1, accumulate: {fit: 1GiB}, local: {steps: 10}"),
                    Catch::Contains("remove accumulate"));
}

TEST_CASE("a learning rate is scaled by the ratio of the batches, or by its root", "[training]") {
  CHECK(settings("epochs: 1").scaled_rate(0.1) == 0.1);
  CHECK(settings("epochs: 1, lr_scaling: linear").scaled_rate(0.1) == Approx(0.1 * 8 / 256));
  CHECK(settings("epochs: 1, lr_scaling: sqrt").scaled_rate(0.1) == Approx(0.1 * std::sqrt(8.0 / 256)));
  CHECK(settings("epochs: 1, lr_scaling: {rule: linear}").scaled_rate(0.1) == Approx(0.1 * 8 / 256));
  CHECK(settings("epochs: 1, lr_scaling: {rule: sqrt, batch: 2}").scaled_rate(0.1) == Approx(0.2));
  CHECK(settings("epochs: 1, accumulate: 4, lr_scaling: {rule: linear, batch: 2}").scaled_rate(0.1) ==
        Approx(0.4));
  CHECK(settings("epochs: 1, local: {steps: 5, virtual_workers: 4}, lr_scaling: {rule: linear, batch: 1}")
            .scaled_rate(0.1) == Approx(0.2));
}

TEST_CASE("epochs whose steps no number counts are refused, wherever they stand", "[training]") {
  const std::string count = "4611686018427387904";
  for (const std::string text :
       {"epochs: N", "steps: N", "epochs: 1, checkpoint: {epochs: N}", "epochs: 1, evaluate: {steps: N}",
        "epochs: 1, warmup: {epochs: N}", "epochs: 1, schedule: {step: {at: {steps: [N]}, factor: 0.1}}"}) {
    INFO(text);
    CHECK_THROWS_WITH(settings(std::string(text).replace(text.find('N'), 1, count)), Catch::Contains(count));
  }
}

TEST_CASE("a run without a length, or with two, is an error", "[training]") {
  CHECK_THROWS_WITH(settings("seed: 2"), Catch::Contains("epochs"));
  CHECK_THROWS_WITH(settings("epochs: 1, steps: 2"), Catch::Contains("steps"));
}

TEST_CASE("keys that need the parameters of every step are refused beside local", "[training]") {
  const std::string local = "epochs: 1, local: {steps: 10}";
  CHECK(settings(local).local->virtual_workers == 8);
  CHECK(settings(local).fixed_virtual_workers() == 8);
  CHECK_THROWS_WITH(settings(local + ", virtual_workers: 4"), Catch::Contains("virtual workers of its own"));
  CHECK_THROWS_WITH(settings(local + ", accumulate: 2"), Catch::Contains("train.local compute their shares"));
  CHECK_THROWS_WITH(settings(local + ", ema: 0.9"), Catch::Contains("once a round"));
  CHECK_THROWS_WITH(settings(local + ", exact: true, crosscheck: 5"), Catch::Contains("the same step"));
  CHECK_THROWS_WITH(settings(local + ", compression: powersgd"), Catch::Contains("one_bit, or bf16"));
  CHECK(settings(local + ", exact: true, compression: one_bit").compression.has_feedback());
  CHECK_THROWS_WITH(settings(local + ", compression: {one_bit: {momentum: 0.5}}"),
                    Catch::Contains("rounds of train.local have no momentum"));
  // A run keeps the default in its configuration; 0 is what rounds do.
  for (const std::string momentum : {"0.9", "0"})
    CHECK(settings(local + ", compression: {one_bit: {momentum: " + momentum + "}}").local);
  CHECK_THROWS_WITH(settings("epochs: 1, local: {steps: 10, virtual_workers: 9}"),
                    Catch::Contains("a batch of 8 samples is too small for 9 virtual workers"));
}

}  // namespace trainer
