// What the members of `train` do to an update, wherever it is computed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/config/config_tree.h"
#include "models/runs/training_run.h"
#include "tests/models/training/placed_run.h"
#include "tests/support/noise_dataset.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

double norm(const std::vector<float>& numbers) {
  double squares = 0;
  for (const float number : numbers) squares += static_cast<double>(number) * number;
  return std::sqrt(squares);
}

bool is_weight(const std::string& name) {
  return name.ends_with(".weight") && name.find("norm") == std::string::npos;
}

}  // namespace

TEST_CASE("clip_norm scales the gradient of all ranks down to it, and no shorter one", "[training]") {
  const std::string layers = GENERATE(kPairs, kConvnet);
  const auto alone = solo();
  const Run initial = train(*alone, {}, {layers, "optimizer: {sgd: {lr: 1}}, steps: 0, evaluate: never"});
  const auto update = [&](const Placement& placement, const std::string& clip) {
    const Run run = train(test_world(), placement,
                          {layers, "optimizer: {sgd: {lr: 1}}, steps: 1, evaluate: never" + clip});
    double squares = 0;
    for (std::size_t i = 0; i < run.weights().size(); ++i)
      if (run.weights()[i].name.find("running") == std::string::npos)
        squares += squared_change(run, initial, i);
    return std::sqrt(squares);
  };
  for (const Placement& placement : placements(test_world().size())) {
    INFO(text(placement) << ", " << layers);
    const double whole = update(placement, ""), clipped = update(placement, ", clip_norm: 0.1"),
                 spared = update(placement, ", clip_norm: 1000");
    if (test_world().rank() != 0) continue;
    CHECK(whole > 0.2);
    CHECK(clipped == Approx(0.1).epsilon(1e-4));
    CHECK(spared == whole);
  }
}

TEST_CASE("logged norms of layers have the same bits wherever the layers lie", "[training]") {
  const std::string layers = GENERATE(kPairs, kConvnet);
  const Work work{layers,
                  "exact: true, optimizer: {adam: {lr: 0.01}}, steps: 3, evaluate: never, log_every: 2, "
                  "clip_norm: 0.5, log: {gradients: true}"};
  const auto alone = solo();
  const Run reference = train(*alone, {}, work);
  REQUIRE(reference.layers.size() >= 3);
  for (const Placement& placement : placements(test_world().size())) {
    INFO(text(placement) << ", " << layers);
    const Run run = train(test_world(), placement, work);
    if (test_world().rank() != 0) continue;
    REQUIRE(run.layers.size() == reference.layers.size());
    for (std::size_t i = 0; i < run.layers.size(); ++i) {
      CHECK(run.layers[i].gradient == reference.layers[i].gradient);
      CHECK(run.layers[i].parameters == reference.layers[i].parameters);
      CHECK(run.layers[i].change == reference.layers[i].change);
    }
  }
}

TEST_CASE("logged norms are those of the gradient before clipping and of the update after it", "[training]") {
  const auto alone = solo();
  const auto after = [&](const std::string& more) {
    return train(
        *alone, {},
        {kPairs, "optimizer: {sgd: {lr: 1}}, evaluate: never, log_every: 1, log: {gradients: true}" + more});
  };
  const Run initial = after(", steps: 0"), plain = after(", steps: 1"),
            clipped = after(", steps: 1, clip_norm: 0.1");
  REQUIRE(clipped.layers.size() == 3);
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const auto norm_of_change = [&](const Run& run) {  // tensors are dense1.bias, dense1.weight ...
      return std::sqrt(squared_change(run, initial, 2 * layer) + squared_change(run, initial, 2 * layer + 1));
    };
    CHECK(clipped.layers[layer].gradient == Approx(norm_of_change(plain)).epsilon(1e-4));
    CHECK(clipped.layers[layer].change == Approx(norm_of_change(clipped)).epsilon(1e-4));
    const double bias = norm(initial.weights()[2 * layer].values),
                 weight = norm(initial.weights()[2 * layer + 1].values);
    CHECK(clipped.layers[layer].parameters == Approx(std::hypot(bias, weight)).epsilon(1e-4));
  }
}

TEST_CASE("clip_value clamps elements of the gradient, and then clip_norm scales it", "[training]") {
  constexpr float kLimit = 0.01f;
  const auto alone = solo();
  const auto after = [&](const std::string& more) {
    return train(*alone, {}, {kPairs, "optimizer: {sgd: {lr: 1}}, evaluate: never" + more});
  };
  const Run initial = after(", steps: 0"), plain = after(", steps: 1");
  const Run cut = after(", steps: 1, clip_value: 0.01"),
            both = after(", steps: 1, clip_value: 0.01, clip_norm: 0.05");
  double squares = 0;
  int beyond = 0;
  for (std::size_t i = 0; i < cut.weights().size(); ++i) {
    squares += squared_change(both, initial, i);
    for (std::size_t k = 0; k < cut.weights()[i].values.size(); ++k) {
      const float whole = plain.weights()[i].values[k] - initial.weights()[i].values[k];
      CHECK(cut.weights()[i].values[k] - initial.weights()[i].values[k] ==
            Approx(std::clamp(whole, -kLimit, kLimit)).margin(1e-6));
      beyond += std::abs(whole) > kLimit ? 1 : 0;
    }
  }
  CHECK(beyond > 10);
  CHECK(std::sqrt(squares) == Approx(0.05).epsilon(1e-3));
}

TEST_CASE("a scaled learning rate trains as if it stood in the file, through warm-up and schedule",
          "[training]") {
  const auto alone = solo();
  const std::string more = "warmup: {steps: 3}, schedule: {polynomial: 2}, evaluate: never, steps: 8";
  const auto after = [&](const std::string& rate) { return train(*alone, {}, {kPairs, rate + more}); };
  // The batch has 100 samples, and 0.5 * 100 / 25 is exact.
  const Run written = after("optimizer: {sgd: {lr: 2}}, ");
  check_same_bits(after("optimizer: {sgd: {lr: 0.5}}, lr_scaling: {rule: linear, batch: 25}, "), written);
  check_same_bits(after("optimizer: {sgd: {lr: 1}}, lr_scaling: {rule: sqrt, batch: 25}, "), written);
}

TEST_CASE("lars and lamb scale by norms of whole parameters, wherever their parts lie", "[training]") {
  const std::string layers = GENERATE(kPairs, kConvnet, kWide);
  const std::string optimizer = GENERATE("lars: {lr: 1, trust: 0.1}", "lamb: {lr: 0.1, weight_decay: 0}");
  const auto alone = solo();
  const std::string settings = "optimizer: {" + optimizer + "}, evaluate: never, steps: ";
  const Run initial = train(*alone, {}, {layers, settings + "0"});
  for (const Placement& placement : placements(test_world().size())) {
    const Run run = train(test_world(), placement, {layers, settings + "1"});
    INFO(text(placement) << ", " << layers << ", " << optimizer);
    for (std::size_t i = 0; i < run.weights().size(); ++i)
      if (is_weight(run.weights()[i].name))
        CHECK(std::sqrt(squared_change(run, initial, i)) ==
              Approx(0.1 * norm(initial.weights()[i].values)).epsilon(1e-4));
  }
}

TEST_CASE("a batch in micro-batches has the losses of a whole batch", "[training]") {
  const std::string settings = "optimizer: {sgd: {lr: 0.1, momentum: 0.9}}, epochs: 3, clip_norm: 0.5";
  const auto alone = solo();
  const Run reference = train(*alone, {}, {kMlp, settings});
  for (const Placement& placement : placements(test_world().size())) {
    const Run run = train(test_world(), placement, {kMlp, settings + ", accumulate: 5"});
    INFO(text(placement));
    if (test_world().rank() != 0) continue;
    REQUIRE(run.losses.size() == reference.losses.size());
    for (std::size_t step = 0; step < run.losses.size(); ++step)
      CHECK(run.losses[step] == Approx(reference.losses[step]).epsilon(1e-5));
  }
}

TEST_CASE("frozen weights stay, and biases beside them learn", "[training]") {
  const auto alone = solo();
  const Work work{
      "[{recompute: {layers: [{conv: {filters: 4, kernel: 3}}, batch_norm], frozen: weights}}, relu, "
      "{dense: 10}]",
      std::string(kSgd) + ", evaluate: never, steps: "};
  const Run before = train(*alone, {}, {work.layers, work.settings + "0"});
  const Run after = train(*alone, {}, {work.layers, work.settings + "3"});
  for (std::size_t i = 0; i < after.weights().size(); ++i) {
    const std::string& name = after.weights()[i].name;
    INFO(name);
    if (name.find("running") != std::string::npos) continue;
    const bool stays = name == "conv1.weight" || name == "batch_norm1.weight";
    CHECK((squared_change(after, before, i) == 0) == stays);
  }
}

TEST_CASE("biases beside frozen weights learn wherever their layer is partitioned", "[training]") {
  const Work work{
      "[{dense: {units: 20, activation: tanh}}, {dense: {units: 17, activation: relu, frozen: weights}}, "
      "{dense: 10}]",
      std::string(kSgd) + ", evaluate: never, exact: true, steps: 3"};
  const auto alone = solo();
  const Run reference = train(*alone, {}, work);
  for (const Placement& placement : placements(test_world().size())) {
    INFO(text(placement));
    check_same_bits(train(test_world(), placement, work), reference);
  }
}

TEST_CASE("a first convolution is whitened by the training images, wherever a run is computed",
          "[training]") {
  const Work work{"[{conv: {filters: 6, kernel: 2, init: whitening, frozen: weights}}, relu, {dense: 10}]",
                  std::string(kSgd) + ", evaluate: never, exact: true, steps: 2"};
  const auto alone = solo();
  const Run reference = train(*alone, {}, work);
  CHECK(norm(reference.weights().front().values) > 1);
  for (const Placement& placement : placements(test_world().size())) {
    INFO(text(placement));
    check_same_bits(train(test_world(), placement, work), reference);
  }
}

TEST_CASE("an evaluation averages the outputs of all views of an image", "[training]") {
  const auto loss = [](Communicator& world, const Placement& placement, const std::string& layers,
                       const std::string& views) {
    return train(world, placement, {layers, std::string(kSgd) + ", steps: 2, views: " + views})
        .evaluation.loss;
  };
  const auto alone = solo();
  const std::string views = GENERATE("mirror", "mirror_shift");
  // Where no pixel has a place, a mirror image is the image.
  const std::string placeless = "[{conv: {filters: 4, kernel: 1}}, relu, global_avg_pool, {dense: 10}]";
  if (views == "mirror")
    CHECK(loss(*alone, {}, placeless, views) == Approx(loss(*alone, {}, placeless, "one")).epsilon(1e-6));
  const double reference = loss(*alone, {}, kConvnet, views);
  CHECK(std::abs(reference - loss(*alone, {}, kConvnet, "one")) > 1e-5);
  for (const Placement& placement : placements(test_world().size())) {
    INFO(text(placement));
    CHECK(loss(test_world(), placement, kConvnet, views) == Approx(reference).epsilon(1e-4));
  }
}

TEST_CASE("frozen layers stay, others learn at their own rate, and nested layers at that of their parent",
          "[training]") {
  const std::string optimizer = GENERATE("sgd: {lr: 1}", "adam: {lr: 0.01, weight_decay: 0.1}");
  const auto layers = [](const std::string& first, const std::string& inner, const std::string& last) {
    return "[{conv: {filters: 4, kernel: 3" + first +
           "}}, {residual: {body: [{conv: {filters: 4, kernel: 3, pad: "
           "same, bias: false" +
           inner + "}}, batch_norm]" + first + "}}, {dense: {units: 13, activation: relu" + last +
           "}}, {dense: 10}]";
  };
  const std::string settings = "clip_norm: 1000, evaluate: never, optimizer: {" + optimizer + "}, steps: ";
  const auto alone = solo();
  const Run initial = train(*alone, {}, {layers("", "", ""), settings + "0"});
  const Run plain = train(*alone, {}, {layers("", "", ""), settings + "1"});
  for (const Placement& placement : placements(test_world().size())) {
    INFO(text(placement) << ", " << optimizer);
    const Run run = train(test_world(), placement,
                          {layers(", frozen: true", ", frozen: false", ", lr: x0.25"), settings + "1"});
    for (std::size_t i = 0; i < run.weights().size(); ++i) {
      const std::string& name = run.weights()[i].name;
      if (name.find("running") != std::string::npos) continue;
      INFO(name);
      const double factor = name.starts_with("conv1") || name.starts_with("batch_norm1") ? 0
                            : name.starts_with("dense1")                                 ? 0.25
                                                                                         : 1;
      CHECK(std::sqrt(squared_change(run, initial, i)) ==
            Approx(factor * std::sqrt(squared_change(plain, initial, i))).epsilon(1e-3).margin(1e-12));
    }
  }
}

TEST_CASE("a factor of the learning rate that is none is an error of the layer", "[training]") {
  const std::string factor = GENERATE("2", "x", "x-1", "xinf", "xnan", "x2 ");
  const auto alone = solo();
  CHECK_THROWS_WITH(
      train(*alone, {},
            {"[{dense: {units: 10, lr: '" + factor + "'}}]", "optimizer: {sgd: {lr: 1}}, steps: 1"}),
      Catch::Contains("is a factor of the learning rate"));
}

TEST_CASE("the EMA of the weights is saved", "[training]") {
  const auto alone = solo();
  const auto after = [&](int steps, const std::string& more = "") {
    return train(
        *alone, {},
        {kMlp, "optimizer: {adam: {lr: 0.01}}, evaluate: never, steps: " + std::to_string(steps) + more});
  };
  const std::vector<Run> runs{after(0), after(1), after(2), after(3)};
  const Run averaged = after(3, ", ema: 0.75");
  for (std::size_t i = 0; i < averaged.weights().size(); ++i)
    for (std::size_t k = 0; k < averaged.weights()[i].values.size(); ++k) {
      double mean = runs[0].weights()[i].values[k];
      for (std::size_t run = 1; run < runs.size(); ++run)
        mean = 0.75 * mean + 0.25 * static_cast<double>(runs[run].weights()[i].values[k]);
      CHECK(averaged.weights()[i].values[k] == Approx(mean).margin(1e-6));
    }
  CHECK(averaged.losses == runs[3].losses);
}

TEST_CASE("a schedule of momentum requires an optimizer that has one, one of evaluations requires these",
          "[training]") {
  const auto alone = solo();
  CHECK_THROWS_WITH(
      train(*alone, {}, {kMlp, "optimizer: {sgd: {lr: 1}}, steps: 1, schedule: {one_cycle: {momentum: {}}}"}),
      Catch::Contains("the optimizer has none"));
  CHECK_THROWS_WITH(
      train(*alone, {}, {kMlp, "optimizer: {sgd: {lr: 1}}, steps: 1, schedule: plateau, evaluate: never"}),
      Catch::Contains("the run has none"));
}

TEST_CASE("metrics of an epoch are those of all its samples at once, not means of its steps", "[training]") {
  class Epochs final : public Observer {
   public:
    void on_epoch(const EpochReport& report) override { last = report; }
    EpochReport last;
  };
  const ConfigTree tree(
      {.file = "test.yaml",
       .text =
           "data: {dataset: digits}\nmodel: {layers: [{dense: 10}], loss: softmax_cross_entropy}\n"
           "train: {batch: 20, epochs: 1, metrics: [f1, perplexity, confusion, {auc: 3}], optimizer: {sgd: "
           "{lr: 0}}}\n"},
      run_settings());
  Mesh mesh(test_world(), {.data = test_world().size()});
  ThreadPool pool(1, true);
  const auto samples = [] { return std::make_unique<NoiseDataset>(107, Shape{8, 8, 1}, 10, 1); };
  Session session(tree.root(), {.name = "noise", .train = samples(), .test = samples()}, mesh, pool);
  TrainingRun trainer(tree.root(), session, {.reducer = {.oversubscribed = true}});
  Epochs epochs;
  const TemporaryFolder folder;
  trainer.run({&epochs}, folder.path());
  if (test_world().rank() != 0) return;
  REQUIRE(epochs.last.evaluation);
  // While training auc is of scores in bins.
  for (std::size_t metric = 0; metric < 4; ++metric)
    CHECK(epochs.last.train.metrics.at(metric) ==
          Approx(epochs.last.evaluation->metrics.at(metric)).margin(metric == 3 ? 0.005 : 0));
}

}  // namespace trainer
