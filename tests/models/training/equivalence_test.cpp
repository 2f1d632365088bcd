// One computation, any placement: runs on N ranks are held to the same run on one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/config/config_tree.h"
#include "models/training/evaluation.h"
#include "models/training/trainer.h"
#include "tests/support/mpi_main.h"
#include "tests/support/noise_dataset.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

constexpr const char* kMlp = "[{dense: {units: 30, activation: relu}}, {dropout: 0.3}, {dense: 10}]";
constexpr const char* kPairs =
    "[{dense: {units: 20, activation: tanh}}, {dense: {units: 17, activation: relu}}, {dense: 10}]";
/// Fewer units than ranks: some ranks hold nothing of a layer, cut by outputs or by inputs.
constexpr const char* kNarrow =
    "[{dense: {units: 2, activation: tanh}}, {dense: {units: 1, bias: false}}, {dense: 3}, {dense: 10}]";
/// Blocks of units that no number of ranks but one divides, in pairs and behind dropout.
constexpr const char* kUneven =
    "[{dense: {units: 90, activation: gelu}}, {dense: {units: 75, activation: tanh}}, {dropout: 0.2}, "
    "{dense: {units: 40}}, relu, {dense: 10}]";
/// Large enough that the workers of a rank share out the update.
constexpr const char* kWide = "[{dense: {units: 4200, activation: relu}}, {dense: 10}]";
constexpr const char* kConvnet =
    "[{conv: {filters: 4, kernel: 3}}, batch_norm, relu, {max_pool: 2}, {dense: {units: 13, activation: "
    "relu}}, {dense: 10}]";

struct Placement {
  int data = 1, model = 1, ranks_per_node = 0, threads = 1;
  bool share = true;
};

std::string text(const Placement& placement) {
  return "data " + std::to_string(placement.data) + ", model " + std::to_string(placement.model) +
         ", ranks per node " + std::to_string(placement.ranks_per_node) + ", threads " +
         std::to_string(placement.threads) + (placement.share ? "" : ", private buffers");
}

struct Run {
  std::vector<NamedTensor> weights;  ///< on world rank 0 of its communicator
  std::vector<double> losses;        ///< likewise
  Scores evaluation;                 ///< on all ranks
};

class Losses final : public Observer {
 public:
  explicit Losses(std::vector<double>& losses) : losses_(losses) {}
  void on_step(const StepReport& report) override { losses_.push_back(report.scores.loss); }

 private:
  std::vector<double>& losses_;
};

Run train(Communicator& world, const Placement& placement, const std::string& layers,
          const std::string& settings, const std::string& initial_weights = "", double mixup = 0) {
  const ConfigTree tree(
      {.file = "test.yaml",
       .text =
           "data: {dataset: digits, augment: [{random_crop: 1}, horizontal_flip]}\n"
           "model: {layers: " +
           layers +
           ", loss: softmax_cross_entropy}\ntrain: {batch: 100, metrics: [accuracy], guards: {steps: 2}, " +
           settings + "}\n"},
      run_settings());
  Mesh mesh(world,
            {.data = placement.data, .model = placement.model, .ranks_per_node = placement.ranks_per_node});
  ThreadPool pool(placement.threads, true);
  const Shape sample{8, 8, 1};
  Data data{.name = "noise",
            .train = std::make_unique<NoiseDataset>(207, sample, 10, 1),
            .test = std::make_unique<NoiseDataset>(103, sample, 10, 2),
            .augmentation = Augmentation(tree.root().at("data").items("augment"), sample, 1),
            .mixup = Mixup(mixup, 207, 1)};
  Session session(tree.root(), std::move(data), mesh, pool);
  Trainer trainer(tree.root(), session,
                  {.initial_weights = initial_weights,
                   .reducer = {.bucket_floats = 500, .share = placement.share, .crowded = true}});
  Run run;
  Losses losses(run.losses);
  const TemporaryFolder folder;
  trainer.run({&losses}, folder.path());
  run.evaluation = evaluate(session, *session.data().test);
  if (world.rank() == 0) run.weights = read_safetensors(folder.path() / "last/model.safetensors").tensors;
  return run;
}

/// Every placement of this many ranks.
std::vector<Placement> placements(int ranks) {
  std::vector<Placement> all{
      {.data = ranks}, {.data = 1, .model = ranks}, {.data = ranks, .ranks_per_node = 1}};
  all.push_back({.data = ranks, .threads = 2});
  all.push_back({.data = 1, .model = ranks, .threads = 2});
  all.push_back({.data = ranks, .share = false});
  if (ranks > 2) all.push_back({.data = ranks, .ranks_per_node = 2});
  if (ranks == 4) {
    all.push_back({.data = 2, .model = 2});
    all.push_back({.data = 2, .model = 2, .ranks_per_node = 2, .threads = 2});
  }
  return all;
}

/// The largest difference of two runs' weights, over the largest change that training made to them.
double largest_difference(const Run& run, const Run& reference, const Run& initial) {
  double difference = 0, change = 0;
  REQUIRE(run.weights.size() == reference.weights.size());
  for (std::size_t i = 0; i < run.weights.size(); ++i) {
    REQUIRE(run.weights[i].name == reference.weights[i].name);
    REQUIRE(run.weights[i].shape == reference.weights[i].shape);
    for (std::size_t k = 0; k < run.weights[i].values.size(); ++k) {
      const double expected = reference.weights[i].values[k];
      difference = std::max(difference, std::abs(run.weights[i].values[k] - expected));
      change = std::max(change, std::abs(expected - initial.weights[i].values[k]));
    }
  }
  return difference / change;
}

}  // namespace

TEST_CASE("the gradient of one step does not depend on where it is computed", "[training]") {
  const std::string layers = GENERATE(kMlp, kPairs, kNarrow, kConvnet, kWide);
  const std::string one_step = "optimizer: {sgd: {lr: 1}}, steps: 1, evaluate: never";
  const auto alone = solo();
  const Run initial = train(*alone, {}, layers, "optimizer: {sgd: {lr: 1}}, steps: 0, evaluate: never");
  const Run reference = train(*alone, {}, layers, one_step);
  for (const Placement& placement : placements(test_world().size())) {
    const Run run = train(test_world(), placement, layers, one_step);
    INFO(text(placement) << ", " << layers);
    if (test_world().rank() == 0) CHECK(largest_difference(run, reference, initial) < 1e-5);
  }
}

TEST_CASE("losses and scores of a run with a last batch of 7 do not depend on where it is computed",
          "[training]") {
  const std::string layers = GENERATE(kMlp, kPairs, kConvnet, kWide);
  const std::string run_settings =
      "optimizer: {sgd: {lr: 0.02, momentum: 0.9, weight_decay: 1.0e-4}}, epochs: 4";
  const auto alone = solo();
  const Run reference = train(*alone, {}, layers, run_settings);
  REQUIRE(reference.losses.size() == 12);
  CHECK(*std::ranges::min_element(reference.losses) < reference.losses.front());
  for (const Placement& placement : placements(test_world().size())) {
    const Run run = train(test_world(), placement, layers, run_settings);
    INFO(text(placement) << ", " << layers);
    CHECK(run.evaluation.samples == 103);
    CHECK(run.evaluation.loss == Approx(reference.evaluation.loss).epsilon(1e-4));
    if (test_world().rank() != 0) continue;
    REQUIRE(run.losses.size() == reference.losses.size());
    for (std::size_t step = 0; step < run.losses.size(); ++step)
      CHECK(run.losses[step] == Approx(reference.losses[step]).epsilon(1e-4));
  }
}

TEST_CASE("in exact mode losses, scores and weights have the same bits wherever a run is computed",
          "[training]") {
  const auto [layers, blocks, mixup] = GENERATE(table<std::string, int, double>(
      {{kMlp, 8, 0}, {kPairs, 8, 0}, {kNarrow, 8, 0}, {kUneven, 7, 0}, {kConvnet, 7, 0.4}}));
  // 7 blocks of batches of 100 and of 7: uneven ones, and a worker without any.
  const std::string settings =
      "optimizer: {sgd: {lr: 0.02, momentum: 0.9, weight_decay: 1.0e-4}}, epochs: 1, clip_norm: 0.5, exact: "
      "true, blocks: " +
      std::to_string(blocks);
  const auto alone = solo();
  const Run reference = train(*alone, {}, layers, settings, "", mixup);
  std::vector<Placement> all = placements(test_world().size());
  all.push_back({.data = test_world().size(), .threads = 5});
  if (test_world().size() == 4) all.push_back({.data = 2, .model = 2, .ranks_per_node = 1, .share = false});
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Neither does a look at what others compute, at a whole batch or at the last.
    const std::string crosscheck = ", crosscheck: " + std::to_string(2 + i % 2);
    const Placement& placement = all[i];
    const Run run = train(test_world(), placement, layers, settings + crosscheck, "", mixup);
    INFO(text(placement) << ", " << layers);
    CHECK(run.evaluation.loss == reference.evaluation.loss);
    CHECK(run.evaluation.metrics == reference.evaluation.metrics);
    if (test_world().rank() != 0) continue;
    CHECK(run.losses == reference.losses);
    for (std::size_t tensor = 0; tensor < run.weights.size(); ++tensor)
      CHECK(run.weights[tensor].values == reference.weights[tensor].values);
  }
}

TEST_CASE(
    "in exact mode more data ranks than blocks, or modelpar where it was given up, are errors of their keys",
    "[training]") {
  const int ranks = test_world().size();
  if (ranks == 1) return;
  const auto error = [&](const Placement& placement, const std::string& settings) {
    try {
      train(test_world(), placement, kMlp, "optimizer: {sgd: {lr: 0.1}}, steps: 1, " + settings);
      return std::string("none");
    } catch (const Error& caught) {
      CHECK(caught.code() == ExitCode::ranks);
      return caught.diagnostics().front().place + ": " + caught.diagnostics().front().what;
    }
  };
  const std::string few = std::to_string(ranks - 1);
  CHECK_THAT(error({.data = ranks}, "exact: true, blocks: " + few), Catch::Contains(few + " blocks to"));
  CHECK_THAT(error({.data = 1, .model = ranks}, "exact: {modelpar: false}"),
             Catch::Contains("without modelpar"));
  CHECK(error({.data = ranks}, "exact: {modelpar: false}") == "none");
}

TEST_CASE("clip_norm scales the gradient of all ranks down to it, and no shorter one", "[training]") {
  const std::string layers = GENERATE(kPairs, kConvnet);
  const auto alone = solo();
  const Run initial = train(*alone, {}, layers, "optimizer: {sgd: {lr: 1}}, steps: 0, evaluate: never");
  const auto update = [&](const Placement& placement, const std::string& clip) {
    const Run run =
        train(test_world(), placement, layers, "optimizer: {sgd: {lr: 1}}, steps: 1, evaluate: never" + clip);
    double squares = 0;
    for (std::size_t i = 0; i < run.weights.size(); ++i)
      for (std::size_t k = 0; k < run.weights[i].values.size(); ++k)
        if (run.weights[i].name.find("running") == std::string::npos)
          squares +=
              std::pow(static_cast<double>(run.weights[i].values[k]) - initial.weights[i].values[k], 2);
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

TEST_CASE("a run on the same layout repeats its bits", "[training]") {
  const std::string settings = "optimizer: {sgd: {lr: 0.02, momentum: 0.9}}, epochs: 2";
  for (const Placement& placement : placements(test_world().size())) {
    const Run first = train(test_world(), placement, kConvnet, settings);
    const Run second = train(test_world(), placement, kConvnet, settings);
    CHECK(first.losses == second.losses);
    for (std::size_t i = 0; i < first.weights.size(); ++i)
      CHECK(first.weights[i].values == second.weights[i].values);
  }
}

TEST_CASE("saved weights score the same wherever they are evaluated", "[training]") {
  const std::string layers = GENERATE(kPairs, kConvnet);
  const auto alone = solo();
  const Run reference = train(*alone, {}, layers, "optimizer: {sgd: {lr: 0.02}}, epochs: 2");
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "weights.safetensors").string();
  std::vector<NamedView> views;
  for (const NamedTensor& tensor : reference.weights)
    views.push_back({tensor.name, ConstTensor(tensor.values.data(), tensor.shape)});
  write_safetensors(file, views);
  for (const Placement& placement : placements(test_world().size())) {
    const Run run = train(test_world(), placement, layers, "optimizer: {sgd: {lr: 0.02}}, epochs: 0", file);
    CHECK(run.evaluation.samples == 103);
    CHECK(run.evaluation.metrics == reference.evaluation.metrics);
    CHECK(run.evaluation.loss == Approx(reference.evaluation.loss).epsilon(1e-6));
    for (std::size_t i = 0; i < run.weights.size(); ++i)
      CHECK(run.weights[i].values == reference.weights[i].values);
  }
}

}  // namespace trainer
