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
#include "tests/support/token_dataset.h"

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

/// Sequences of several lengths, and a small GPT.
constexpr const char* kRagged =
    "[{embedding: {units: 6, vocabulary: 10}}, {lstm: {units: 7, layers: 2}}, {gru: {units: 4, "
    "bidirectional: "
    "true}}, {rnn: 6}, {attention: 2}, {dense: 10}]";
constexpr const char* kGpt =
    "[{embedding: {units: 8, vocabulary: 10, positions: learned, name: tokens}}, {residual: [layer_norm, "
    "{attention: {heads: 2, causal: true}}, {dropout: 0.1}]}, {residual: [layer_norm, {dense: {expand: 3, "
    "activation: gelu}}, {dense: 8}]}, layer_norm, {dense: {units: 10, bias: false, tie: tokens}}]";

/// State that goes on from batch to batch.
constexpr const char* kStreams =
    "[{embedding: {units: 6, vocabulary: 10}}, {lstm: {units: 5, layers: 2, keep_state: true}}, {gru: "
    "{units: 6, "
    "keep_state: true}}, {dense: 10}]";

constexpr const char* kSgd = "optimizer: {sgd: {lr: 0.02, momentum: 0.9, weight_decay: 1.0e-4}}";
constexpr const char* kAdam = "optimizer: {adamw: {lr: 0.003}}";

bool takes_tokens(const std::string& layers) { return layers.find("embedding") != std::string::npos; }

std::unique_ptr<Dataset> samples(const std::string& layers, std::int64_t count, std::uint64_t seed) {
  if (takes_tokens(layers))
    return std::make_unique<TokenDataset>(count, 9, 10, seed, layers == kRagged ? 8 : 0);
  return std::make_unique<NoiseDataset>(count, Shape{8, 8, 1}, 10, seed);
}

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
           std::string("data: {dataset: digits") +
           (takes_tokens(layers) ? "" : ", augment: [{random_crop: 1}, horizontal_flip]") +
           (layers == kStreams ? ", streams: true" : "") + "}\nmodel: {layers: " + layers +
           ", loss: softmax_cross_entropy}\ntrain: {batch: 100, metrics: [accuracy], guards: {steps: 2}, " +
           settings + "}\n"},
      run_settings());
  Mesh mesh(world,
            {.data = placement.data, .model = placement.model, .ranks_per_node = placement.ranks_per_node});
  ThreadPool pool(placement.threads, true);
  Data data{.name = "noise", .train = samples(layers, 207, 1), .test = samples(layers, 103, 2)};
  data.augmentation = Augmentation(tree.root().at("data").items("augment"), data.train->sample(), 1);
  data.mixup = Mixup(mixup, 207, 1);
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
  const std::string layers = GENERATE(kMlp, kPairs, kNarrow, kConvnet, kWide, kRagged, kGpt);
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
  const std::string layers = GENERATE(kMlp, kPairs, kConvnet, kWide, kRagged, kGpt);
  const std::string run_settings = std::string(takes_tokens(layers) ? kAdam : kSgd) + ", epochs: 4";
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
  const auto [layers, blocks, mixup] = GENERATE(table<std::string, int, double>({{kMlp, 8, 0},
                                                                                 {kPairs, 8, 0},
                                                                                 {kNarrow, 8, 0},
                                                                                 {kUneven, 7, 0},
                                                                                 {kConvnet, 7, 0.4},
                                                                                 {kRagged, 7, 0},
                                                                                 {kGpt, 7, 0},
                                                                                 {kStreams, 7, 0}}));
  // 7 blocks of batches of 100 and of 7: uneven ones, and a worker without any.
  const std::string settings = std::string(takes_tokens(layers) ? kAdam : kSgd) +
                               ", epochs: 1, clip_norm: 0.5, exact: true, blocks: " + std::to_string(blocks);
  const auto alone = solo();
  const Run reference = train(*alone, {}, layers, settings, "", mixup);
  std::vector<Placement> all = placements(test_world().size());
  all.push_back({.data = test_world().size(), .threads = 5});
  if (test_world().size() == 4) all.push_back({.data = 2, .model = 2, .ranks_per_node = 1, .share = false});
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Neither does a look at what others compute, at a whole batch or at the last.
    const std::string crosscheck = layers == kStreams ? "" : ", crosscheck: " + std::to_string(2 + i % 2);
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

namespace {

/// The sum of the squared differences of a tensor between two runs.
double squared_change(const Run& run, const Run& before, std::size_t tensor) {
  double squares = 0;
  for (std::size_t k = 0; k < run.weights[tensor].values.size(); ++k)
    squares +=
        std::pow(static_cast<double>(run.weights[tensor].values[k]) - before.weights[tensor].values[k], 2);
  return squares;
}

double norm(const std::vector<float>& numbers) {
  double squares = 0;
  for (const float number : numbers) squares += static_cast<double>(number) * number;
  return std::sqrt(squares);
}

bool is_weight(const std::string& name) {
  return name.ends_with(".weight") && name.find("norm") == std::string::npos;
}

}  // namespace

TEST_CASE("lars and lamb scale by norms of whole parameters, wherever their parts lie", "[training]") {
  const std::string layers = GENERATE(kPairs, kConvnet, kWide);
  const std::string optimizer = GENERATE("lars: {lr: 1, trust: 0.1}", "lamb: {lr: 0.1, weight_decay: 0}");
  const auto alone = solo();
  const std::string settings = "optimizer: {" + optimizer + "}, evaluate: never, steps: ";
  const Run initial = train(*alone, {}, layers, settings + "0");
  for (const Placement& placement : placements(test_world().size())) {
    const Run run = train(test_world(), placement, layers, settings + "1");
    INFO(text(placement) << ", " << layers << ", " << optimizer);
    for (std::size_t i = 0; i < run.weights.size(); ++i)
      if (is_weight(run.weights[i].name))
        CHECK(std::sqrt(squared_change(run, initial, i)) ==
              Approx(0.1 * norm(initial.weights[i].values)).epsilon(1e-4));
  }
}

TEST_CASE("in exact mode what scales by norms, clips, averages or adds up parts has the same bits everywhere",
          "[training]") {
  const std::string settings = GENERATE(
      "optimizer: {lars: {lr: 2, weight_decay: 0.01}}, clip_value: 0.01, clip_norm: 0.05",
      "optimizer: {lamb: {lr: 0.01}}, average: 0.9",
      "optimizer: {sgd: {lr: 0.1, momentum: 0.9}}, accumulate: 4, average: 0.5, schedule: {one_cycle: "
      "{momentum: {high: 0.9}}}");
  constexpr const char* kLayers =
      "[{conv: {filters: 4, kernel: 3, frozen: true}}, batch_norm, relu, {dense: {units: 75, activation: "
      "tanh}}, "
      "{dropout: 0.2}, {dense: {units: 40, lr: x0.5}}, relu, {dense: 10}]";
  const auto alone = solo();
  const std::string whole = settings + ", epochs: 2, exact: true, blocks: 7, evaluate: {steps: 2}";
  const Run reference = train(*alone, {}, kLayers, whole);
  for (const Placement& placement : placements(test_world().size())) {
    const Run run = train(test_world(), placement, kLayers, whole);
    INFO(text(placement) << ", " << settings);
    CHECK(run.evaluation.loss == reference.evaluation.loss);
    if (test_world().rank() != 0) continue;
    CHECK(run.losses == reference.losses);
    for (std::size_t i = 0; i < run.weights.size(); ++i)
      CHECK(run.weights[i].values == reference.weights[i].values);
  }
}

TEST_CASE("a batch that is computed in parts has the losses of one that is not", "[training]") {
  const std::string settings = "optimizer: {sgd: {lr: 0.1, momentum: 0.9}}, epochs: 3, clip_norm: 0.5";
  const auto alone = solo();
  const Run reference = train(*alone, {}, kMlp, settings);
  for (const Placement& placement : placements(test_world().size())) {
    const Run run = train(test_world(), placement, kMlp, settings + ", accumulate: 5");
    INFO(text(placement));
    if (test_world().rank() != 0) continue;
    REQUIRE(run.losses.size() == reference.losses.size());
    for (std::size_t step = 0; step < run.losses.size(); ++step)
      CHECK(run.losses[step] == Approx(reference.losses[step]).epsilon(1e-5));
  }
}

TEST_CASE("frozen layers stay, others learn as fast as they say, and layers inside as those that hold them",
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
  const Run initial = train(*alone, {}, layers("", "", ""), settings + "0");
  const Run plain = train(*alone, {}, layers("", "", ""), settings + "1");
  for (const Placement& placement : placements(test_world().size())) {
    INFO(text(placement) << ", " << optimizer);
    const Run run = train(test_world(), placement, layers(", frozen: true", ", frozen: false", ", lr: x0.25"),
                          settings + "1");
    for (std::size_t i = 0; i < run.weights.size(); ++i) {
      const std::string& name = run.weights[i].name;
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
  CHECK_THROWS_WITH(train(*alone, {}, "[{dense: {units: 10, lr: '" + factor + "'}}]",
                          "optimizer: {sgd: {lr: 1}}, steps: 1"),
                    Catch::Contains("how many times as fast"));
}

TEST_CASE("the mean of the weights is what is saved", "[training]") {
  const auto alone = solo();
  const auto after = [&](int steps, const std::string& more = "") {
    return train(*alone, {}, kMlp,
                 "optimizer: {adam: {lr: 0.01}}, evaluate: never, steps: " + std::to_string(steps) + more);
  };
  const std::vector<Run> runs{after(0), after(1), after(2), after(3)};
  const Run averaged = after(3, ", average: 0.75");
  for (std::size_t i = 0; i < averaged.weights.size(); ++i)
    for (std::size_t k = 0; k < averaged.weights[i].values.size(); ++k) {
      double mean = runs[0].weights[i].values[k];
      for (std::size_t run = 1; run < runs.size(); ++run)
        mean = 0.75 * mean + 0.25 * static_cast<double>(runs[run].weights[i].values[k]);
      CHECK(averaged.weights[i].values[k] == Approx(mean).margin(1e-6));
    }
  CHECK(averaged.losses == runs[3].losses);
}

TEST_CASE("clip_value cuts off numbers of the gradient, and clip_norm scales what is left", "[training]") {
  constexpr float kLimit = 0.01f;
  const auto alone = solo();
  const auto after = [&](const std::string& more) {
    return train(*alone, {}, kPairs, "optimizer: {sgd: {lr: 1}}, evaluate: never" + more);
  };
  const Run initial = after(", steps: 0"), plain = after(", steps: 1");
  const Run cut = after(", steps: 1, clip_value: 0.01"),
            both = after(", steps: 1, clip_value: 0.01, clip_norm: 0.05");
  double squares = 0;
  int beyond = 0;
  for (std::size_t i = 0; i < cut.weights.size(); ++i) {
    squares += squared_change(both, initial, i);
    for (std::size_t k = 0; k < cut.weights[i].values.size(); ++k) {
      const float whole = plain.weights[i].values[k] - initial.weights[i].values[k];
      CHECK(cut.weights[i].values[k] - initial.weights[i].values[k] ==
            Approx(std::clamp(whole, -kLimit, kLimit)).margin(1e-6));
      beyond += std::abs(whole) > kLimit ? 1 : 0;
    }
  }
  CHECK(beyond > 10);
  CHECK(std::sqrt(squares) == Approx(0.05).epsilon(1e-3));
}

TEST_CASE("a schedule of momentum wants an optimizer that has one, one of evaluations wants these",
          "[training]") {
  const auto alone = solo();
  CHECK_THROWS_WITH(
      train(*alone, {}, kMlp, "optimizer: {sgd: {lr: 1}}, steps: 1, schedule: {one_cycle: {momentum: {}}}"),
      Catch::Contains("the optimizer has none"));
  CHECK_THROWS_WITH(
      train(*alone, {}, kMlp, "optimizer: {sgd: {lr: 1}}, steps: 1, schedule: plateau, evaluate: never"),
      Catch::Contains("there are none"));
}

TEST_CASE("a layer that keeps its state wants samples that follow one another, and no crosscheck",
          "[training]") {
  const auto session = [](const std::string& data, const std::string& train) {
    const ConfigTree tree(
        {.file = "test.yaml",
         .text = "data: {dataset: digits" + data + "}\nmodel: {layers: " + kStreams +
                 ", loss: softmax_cross_entropy}\ntrain: {batch: 20, steps: 1, " + kAdam + train + "}\n"},
        run_settings());
    const auto alone = solo();
    Mesh mesh(*alone, {});
    ThreadPool pool(1);
    const Session built(tree.root(), {.name = "tokens", .train = samples(kStreams, 50, 1)}, mesh, pool);
  };
  CHECK_NOTHROW(session(", streams: true", ""));
  CHECK_THROWS_WITH(session("", ""), Catch::Contains("samples do not follow one another"));
  CHECK_THROWS_WITH(session(", streams: true", ", exact: true, crosscheck: 5"), Catch::Contains("is gone"));
  CHECK_THROWS_WITH(session(", streams: true", ", accumulate: 2"), Catch::Contains("do not go on"));
}

TEST_CASE("more padding behind sequences changes neither losses nor scores", "[training]") {
  const auto losses = [](std::int64_t positions) {
    const ConfigTree tree(
        {.file = "test.yaml",
         .text = std::string("data: {dataset: digits}\nmodel: {layers: ") + kRagged +
                 ", loss: softmax_cross_entropy}\ntrain: {batch: 20, metrics: [accuracy], steps: 10, " +
                 kAdam + "}\n"},
        run_settings());
    const auto alone = solo();
    Mesh mesh(*alone, {});
    ThreadPool pool(2, true);
    Data data{.name = "tokens",
              .train = std::make_unique<TokenDataset>(207, positions, 10, 1, 8),
              .test = std::make_unique<TokenDataset>(103, positions, 10, 2, 8)};
    Session session(tree.root(), std::move(data), mesh, pool);
    Trainer trainer(tree.root(), session, {});
    std::vector<double> numbers;
    Losses observer(numbers);
    const TemporaryFolder folder;
    trainer.run({&observer}, folder.path());
    // A share of the labels, which are no samples.
    CHECK_FALSE(session.metric_facts()[0].counts_samples);
    const Scores scores = evaluate(session, *session.data().test);
    numbers.push_back(scores.loss);
    numbers.push_back(scores.metrics[0]);
    return numbers;
  };
  const std::vector<double> tight = losses(8), loose = losses(23);
  REQUIRE(tight.size() == 12);
  for (std::size_t i = 0; i < tight.size(); ++i) CHECK(loose[i] == Approx(tight[i]).epsilon(1e-5));
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
  Trainer trainer(tree.root(), session, {.reducer = {.crowded = true}});
  Epochs epochs;
  const TemporaryFolder folder;
  trainer.run({&epochs}, folder.path());
  if (test_world().rank() != 0) return;
  REQUIRE(epochs.last.evaluation);
  for (std::size_t metric = 0; metric < 4; ++metric)
    CHECK(epochs.last.train.metrics.at(metric) == Approx(epochs.last.evaluation->metrics.at(metric)));
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
