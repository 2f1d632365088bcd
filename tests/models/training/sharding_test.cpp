// Sharded gradients and parameters: memory comes and goes, and results stay.
#include <catch2/catch.hpp>

#include "engine/config/config_tree.h"
#include "engine/parallel/broadcast_text.h"
#include "models/training/sharding_check.h"
#include "tests/models/training/placed_run.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

std::vector<Placement> sharded_placements(int ranks) {
  std::vector<Placement> all;
  for (const Sharding sharding : {Sharding::gradients, Sharding::parameters})
    for (const int threads : {1, 2}) all.push_back({.data = ranks, .threads = threads, .sharding = sharding});
  return all;
}

/// Layers of several buckets and pages, a shared weight, a frozen layer, a shortcut of its own.
constexpr const char* kDeep =
    "[{conv: {filters: 8, kernel: 3, pad: same, frozen: true}}, {residual: {body: [{conv: {filters: 12, "
    "kernel: "
    "3, pad: same}}, batch_norm, relu, {conv: {filters: 12, kernel: 3, pad: same}}], shortcut: conv}}, "
    "{recompute: [{dense: {units: 90, activation: relu}}, {dense: {units: 90, activation: tanh, name: "
    "second}}]}, "
    "{concat: [[{dense: 40}], [{dense: 50}, relu]]}, {dense: {units: 90, tie: second}}, {dense: 10}]";

}  // namespace

TEST_CASE("in exact mode sharded gradients and parameters give the bits of one process", "[training]") {
  const std::string layers =
      GENERATE(kMlp, kWide, kDeep, kConvnet, kRagged, kGpt, kLlama, kAdapted, kStreams);
  const std::string settings = std::string(takes_tokens(layers) ? kAdam : kSgd) +
                               ", epochs: 1, clip_norm: 0.5, exact: true, virtual_workers: 7";
  const auto alone = solo();
  const Run reference = train(*alone, {}, {layers, settings});
  for (const Placement& placement : sharded_placements(test_world().size())) {
    const Run run = train(test_world(), placement, {layers, settings});
    INFO(text(placement) << ", " << layers);
    CHECK(run.evaluation.loss == reference.evaluation.loss);
    CHECK(run.evaluation.metrics == reference.evaluation.metrics);
    check_same_bits(run, reference);
  }
}

TEST_CASE("in exact mode this holds for norms, averages, matrices, micro-batches and bf16, too",
          "[training]") {
  const std::string settings =
      GENERATE("optimizer: {lars: {lr: 2, weight_decay: 0.01}}, clip_value: 0.01, clip_norm: 0.05",
               "optimizer: {lamb: {lr: 0.01}}, ema: 0.9", "optimizer: {muon: {lr: 0.02}}",
               "optimizer: {sgd: {lr: 0.1, momentum: 0.9}}, accumulate: 4, ema: 0.5",
               "optimizer: {adamw: {lr: 0.01}}, compression: bf16, log: {gradients: true}");
  constexpr const char* kLayers =
      "[{conv: {filters: 4, kernel: 3, frozen: true}}, batch_norm, relu, {dense: {units: 75, activation: "
      "tanh}}, "
      "{dropout: 0.2}, {recompute: [{dense: {units: 40, lr: x0.5}}, relu]}, {dense: 10}]";
  const Work work{kLayers, settings + ", epochs: 2, exact: true, virtual_workers: 8"};
  const auto alone = solo();
  const Run reference = train(*alone, {}, work);
  for (const Placement& placement : sharded_placements(test_world().size())) {
    if (placement.sharding == Sharding::parameters && settings.find("bf16") != std::string::npos) continue;
    INFO(text(placement) << ", " << settings);
    check_same_bits(train(test_world(), placement, work), reference);
  }
}

TEST_CASE("outside exact mode sharded runs have the bits of ranks that each hold all", "[training]") {
  const std::string layers = GENERATE(kWide, kDeep, kGpt);
  const std::string settings = std::string(takes_tokens(layers) ? kAdam : kSgd) + ", epochs: 2, ema: 0.9";
  for (const Placement& placement : sharded_placements(test_world().size())) {
    Placement whole = placement;
    whole.sharding = Sharding::state;
    whole.ranks_per_node = 1;
    INFO(text(placement) << ", " << layers);
    check_same_bits(train(test_world(), placement, {layers, settings}),
                    train(test_world(), whole, {layers, settings}));
  }
}

TEST_CASE("sharded parameters start from the weights of a file", "[training]") {
  const TemporaryFolder folder;
  std::string place = folder.path().string();
  broadcast_text(test_world(), place);
  const auto alone = solo();
  const Run before = train(*alone, {}, {kMlp, std::string(kSgd) + ", steps: 3"});
  const std::string file = place + "/weights.safetensors";
  if (test_world().rank() == 0) {
    std::vector<NamedView> tensors;
    for (const NamedTensor& tensor : before.weights())
      tensors.push_back({tensor.name, ConstTensor(tensor.values.data(), tensor.shape)});
    write_safetensors(file, tensors);
  }
  test_world().barrier();
  const Work work{kMlp, std::string(kSgd) + ", steps: 3, exact: true", file};
  const Run reference = train(*alone, {}, work);
  for (const Placement& placement : sharded_placements(test_world().size())) {
    INFO(text(placement));
    check_same_bits(train(test_world(), placement, work), reference);
  }
}

TEST_CASE("a sharded run that diverges names the step, and a rank", "[training]") {
  for (const Placement& placement : sharded_placements(test_world().size())) {
    INFO(text(placement));
    CHECK_THROWS_WITH(
        train(test_world(), placement, {kWide, "optimizer: {sgd: {lr: 1.0e+30}}, steps: 9, evaluate: never"}),
        Catch::Contains("at epoch") && Catch::Contains("largest: "));
  }
}

TEST_CASE("what sharding excludes is an error that names the flag and the key", "[training]") {
  // The message, then its help.
  const auto message = [](const std::string& settings, Sharding sharding, int model_ranks) -> std::string {
    const ConfigTree tree(
        {.file = "test.yaml",
         .text = "data: {dataset: digits}\nmodel: {layers: [{dense: 10}], loss: "
                 "softmax_cross_entropy}\ntrain: {epochs: 1, batch: 8, optimizer: {sgd: {lr: "
                 "0.1}}" +
                 settings + "}\n"},
        run_settings());
    const Config train = tree.root().at("train");
    try {
      check_sharding(train, train_settings(train), sharding, model_ranks);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::ranks);
      CHECK_FALSE(error.diagnostics().front().help.empty());
      return error.diagnostics().front().what + "; " + error.diagnostics().front().help;
    }
    return "";
  };
  CHECK_THAT(message("", Sharding::gradients, 2),
             Catch::Contains("--shard gradients") && Catch::Contains("--mesh"));
  CHECK_THAT(message(", local: {steps: 2, virtual_workers: 2, outer: average}", Sharding::parameters, 1),
             Catch::Contains("--shard parameters") && Catch::Contains("train.local"));
  CHECK_THAT(message(", exact: true, crosscheck: 5", Sharding::gradients, 1),
             Catch::Contains("train.crosscheck") && Catch::EndsWith("-s train.crosscheck=~"));
  CHECK_THAT(message(", compression: one_bit", Sharding::gradients, 1), Catch::Contains("train.compression"));
  CHECK_THAT(message(", compression: bf16", Sharding::parameters, 1), Catch::Contains("bf16"));
  CHECK(message(", compression: bf16", Sharding::gradients, 1).empty());
  CHECK(message(", compression: one_bit", Sharding::state, 2).empty());
  CHECK(message("", Sharding::parameters, 1).empty());
}

}  // namespace trainer
