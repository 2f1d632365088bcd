// One computation, any placement: runs on N ranks are held to the same run on one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/models/training/placed_run.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

/// Fewer units than ranks: some ranks hold nothing of a layer, sharded along outputs or inputs.
constexpr const char* kNarrow =
    "[{dense: {units: 2, activation: tanh}}, {dense: {units: 1, bias: false}}, {dense: 3}, {dense: 10}]";
/// Numbers of units that only one rank divides, in pairs of layers and after dropout.
constexpr const char* kUneven =
    "[{dense: {units: 90, activation: gelu}}, {dense: {units: 75, activation: tanh}}, {dropout: 0.2}, "
    "{dense: {units: 40}}, relu, {dense: 10}]";

/// The largest difference of two runs' weights, over the largest change that training made to them.
double largest_difference(const Run& run, const Run& reference, const Run& initial) {
  double difference = 0, change = 0;
  REQUIRE(run.weights().size() == reference.weights().size());
  for (std::size_t i = 0; i < run.weights().size(); ++i) {
    REQUIRE(run.weights()[i].name == reference.weights()[i].name);
    REQUIRE(run.weights()[i].shape == reference.weights()[i].shape);
    for (std::size_t k = 0; k < run.weights()[i].values.size(); ++k) {
      const double expected = reference.weights()[i].values[k];
      difference = std::max(difference, std::abs(run.weights()[i].values[k] - expected));
      change = std::max(change, std::abs(expected - initial.weights()[i].values[k]));
    }
  }
  return difference / change;
}

}  // namespace

TEST_CASE("the gradient of one step does not depend on where it is computed", "[training]") {
  const std::string layers =
      GENERATE(kMlp, kPairs, kNarrow, kConvnet, kWide, kRagged, kGpt, kLlama, kSpoken, kAdapted, kPacked);
  const std::string one_step = "optimizer: {sgd: {lr: 1}}, steps: 1, evaluate: never";
  const auto alone = solo();
  const Run initial = train(*alone, {}, {layers, "optimizer: {sgd: {lr: 1}}, steps: 0, evaluate: never"});
  const Run reference = train(*alone, {}, {layers, one_step});
  for (const Placement& placement : placements(test_world().size())) {
    const Run run = train(test_world(), placement, {layers, one_step});
    INFO(text(placement) << ", " << layers);
    if (test_world().rank() == 0) CHECK(largest_difference(run, reference, initial) < 1e-5);
  }
}

TEST_CASE("recomputed activations give the same weights to the bit, wherever they are computed",
          "[training]") {
  const auto layers = [](const std::string& begin, const std::string& end) {
    std::string text;
    for (const std::string block :
         {"{conv: {filters: 4, kernel: 3, pad: same}}, batch_norm, relu, {dropout: 0.2}",
          "{residual: [{conv: {filters: 4, kernel: 3, pad: same}}, batch_norm]}, relu, {max_pool: 2}",
          "{dense: {units: 13, activation: relu}}, {dropout: 0.3}"})
      text.append(begin).append(block).append(end).append(", ");
    return "[" + text + "{dense: 10}]";
  };
  const bool is_exact = GENERATE(false, true);
  const std::string settings = std::string(kSgd) + ", steps: 5" + (is_exact ? ", exact: true" : "");
  for (const Placement& placement : placements(test_world().size())) {
    // Outside exact mode a partition changes bits, and dense layers inside a recompute are whole.
    if (!is_exact && placement.model > 1) continue;
    INFO(text(placement) << (is_exact ? ", exact" : ""));
    check_same_bits(train(test_world(), placement, {layers("{recompute: [", "]}"), settings}),
                    train(test_world(), placement, {layers("", ""), settings}));
  }
}

TEST_CASE("losses and scores of a run with a last batch of 7 do not depend on where it is computed",
          "[training]") {
  const std::string layers =
      GENERATE(kMlp, kPairs, kConvnet, kWide, kRagged, kGpt, kLlama, kSpoken, kAdapted, kPacked);
  const std::string run_settings = std::string(takes_tokens(layers) ? kAdam : kSgd) + ", epochs: 4";
  const auto alone = solo();
  const Run reference = train(*alone, {}, {layers, run_settings});
  REQUIRE(reference.losses.size() == 12);
  CHECK(*std::ranges::min_element(reference.losses) < reference.losses.front());
  for (const Placement& placement : placements(test_world().size())) {
    const Run run = train(test_world(), placement, {layers, run_settings});
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
  const auto [layers, virtual_workers, mixup] = GENERATE(table<std::string, int, double>({{kMlp, 8, 0},
                                                                                          {kPairs, 8, 0},
                                                                                          {kNarrow, 8, 0},
                                                                                          {kUneven, 7, 0},
                                                                                          {kConvnet, 7, 0.4},
                                                                                          {kRagged, 7, 0},
                                                                                          {kGpt, 7, 0},
                                                                                          {kLlama, 7, 0},
                                                                                          {kAdapted, 7, 0},
                                                                                          {kStreams, 7, 0},
                                                                                          {kPacked, 7, 0},
                                                                                          {kSpoken, 7, 0}}));
  // 7 virtual workers of batches of 100 and of 7 rows: uneven ones, and a worker without any.
  const std::string settings =
      std::string(takes_tokens(layers) ? kAdam : kSgd) +
      ", epochs: 1, clip_norm: 0.5, exact: true, virtual_workers: " + std::to_string(virtual_workers);
  const auto alone = solo();
  const Run reference = train(*alone, {}, {layers, settings, "", mixup});
  std::vector<Placement> all = placements(test_world().size());
  all.push_back({.data = test_world().size(), .threads = 5});
  if (test_world().size() == 4) all.push_back({.data = 2, .model = 2, .ranks_per_node = 1, .share = false});
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Neither does a crosscheck, of a whole batch or of the last one.
    const std::string crosscheck = layers == kStreams ? "" : ", crosscheck: " + std::to_string(2 + i % 2);
    const Placement& placement = all[i];
    const Run run = train(test_world(), placement, {layers, settings + crosscheck, "", mixup});
    INFO(text(placement) << ", " << layers);
    CHECK(run.evaluation.loss == reference.evaluation.loss);
    CHECK(run.evaluation.metrics == reference.evaluation.metrics);
    check_same_bits(run, reference);
  }
}

TEST_CASE("in exact mode norms, clipping, averages and micro-batches have the same bits on every placement",
          "[training]") {
  const std::string settings =
      GENERATE("optimizer: {lars: {lr: 2, weight_decay: 0.01}}, clip_value: 0.01, clip_norm: 0.05",
               "optimizer: {lamb: {lr: 0.01}}, ema: 0.9",
               "optimizer: {sgd: {lr: 0.1, momentum: 0.9}}, accumulate: 4, ema: 0.5, schedule: {one_cycle: "
               "{momentum: {high: 0.9}}}");
  constexpr const char* kLayers =
      "[{conv: {filters: 4, kernel: 3, frozen: true}}, batch_norm, relu, {dense: {units: 75, activation: "
      "tanh}}, "
      "{dropout: 0.2}, {dense: {units: 40, lr: x0.5}}, relu, {dense: 10}]";
  const auto alone = solo();
  const std::string whole = settings + ", epochs: 2, exact: true, virtual_workers: 7, evaluate: {steps: 2}";
  const Run reference = train(*alone, {}, {kLayers, whole});
  for (const Placement& placement : placements(test_world().size())) {
    const Run run = train(test_world(), placement, {kLayers, whole});
    INFO(text(placement) << ", " << settings);
    CHECK(run.evaluation.loss == reference.evaluation.loss);
    check_same_bits(run, reference);
  }
}

TEST_CASE(
    "in exact mode more data ranks than virtual workers, or modelpar where it was given up, are errors of "
    "their keys",
    "[training][2+ ranks]") {
  const int ranks = test_world().size();
  const auto error = [&](const Placement& placement, const std::string& settings) {
    try {
      train(test_world(), placement, {kMlp, "optimizer: {sgd: {lr: 0.1}}, steps: 1, " + settings});
      return std::string("none");
    } catch (const Error& caught) {
      CHECK(caught.code() == ExitCode::ranks);
      return caught.diagnostics().front().place + ": " + caught.diagnostics().front().what;
    }
  };
  const std::string few = std::to_string(ranks - 1);
  CHECK_THAT(error({.data = ranks}, "exact: true, virtual_workers: " + few),
             Catch::Contains(few + " virtual workers"));
  CHECK_THAT(error({.data = 1, .model = ranks}, "exact: {modelpar: false}"),
             Catch::Contains("without modelpar"));
  CHECK(error({.data = ranks}, "exact: {modelpar: false}") == "none");
}

TEST_CASE("a run on the same layout repeats its bits", "[training]") {
  const std::string settings = "optimizer: {sgd: {lr: 0.02, momentum: 0.9}}, epochs: 2";
  for (const Placement& placement : placements(test_world().size())) {
    const Run first = train(test_world(), placement, {kConvnet, settings});
    const Run second = train(test_world(), placement, {kConvnet, settings});
    check_same_bits(first, second);
  }
}

TEST_CASE("saved weights score the same wherever they are evaluated", "[training]") {
  const std::string layers = GENERATE(kPairs, kConvnet);
  const auto alone = solo();
  const Run reference = train(*alone, {}, {layers, "optimizer: {sgd: {lr: 0.02}}, epochs: 2"});
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "weights.safetensors").string();
  std::vector<NamedView> views;
  for (const NamedTensor& tensor : reference.weights())
    views.push_back({tensor.name, ConstTensor(tensor.values.data(), tensor.shape)});
  write_safetensors(file, views);
  for (const Placement& placement : placements(test_world().size())) {
    const Run run = train(test_world(), placement, {layers, "optimizer: {sgd: {lr: 0.02}}, epochs: 0", file});
    CHECK(run.evaluation.samples == 103);
    CHECK(run.evaluation.metrics == reference.evaluation.metrics);
    CHECK(run.evaluation.loss == Approx(reference.evaluation.loss).epsilon(1e-6));
    for (std::size_t i = 0; i < run.weights().size(); ++i)
      CHECK(run.weights()[i].values == reference.weights()[i].values);
  }
}

}  // namespace trainer
