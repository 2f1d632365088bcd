#include "tests/models/training/placed_run.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

#include "engine/config/config_tree.h"
#include "models/runs/training_run.h"
#include "models/training/balance.h"
#include "models/training/evaluation.h"
#include "tests/support/noise_dataset.h"
#include "tests/support/sequence_datasets.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

class LoggedLayers final : public Observer {
 public:
  explicit LoggedLayers(std::vector<LayerNorms>& layers) : layers_(layers) {}
  void on_step(const StepReport& report) override {
    layers_.insert(layers_.end(), report.layers.begin(), report.layers.end());
  }

 private:
  std::vector<LayerNorms>& layers_;
};

class ChainLines final : public Observer {
 public:
  explicit ChainLines(std::vector<std::string>& lines) : lines_(lines) {}
  void on_chain(const std::string& lines) override {
    std::istringstream text(lines);
    for (std::string line; std::getline(text, line);) lines_.push_back(line);
  }

 private:
  std::vector<std::string>& lines_;
};

}  // namespace

std::string text(const Placement& placement) {
  return "data " + std::to_string(placement.data) + ", model " + std::to_string(placement.model) +
         ", ranks per node " + std::to_string(placement.ranks_per_node) + ", threads " +
         std::to_string(placement.threads) + (placement.share ? "" : ", private buffers") +
         (placement.sharding == Sharding::state ? ""
                                                : std::string(", --shard ") + name_of(placement.sharding)) +
         (placement.speeds.empty() ? "" : ", uneven");
}

std::vector<Placement> placements(int ranks) {
  std::vector<Placement> all{{.data = ranks},
                             {.data = 1, .model = ranks},
                             {.data = ranks, .ranks_per_node = 1},
                             {.data = ranks, .threads = 2},
                             {.data = 1, .model = ranks, .threads = 2},
                             {.data = ranks, .share = false}};
  if (ranks > 2) all.push_back({.data = ranks, .ranks_per_node = 2});
  if (ranks == 4) {
    all.push_back({.data = 2, .model = 2});
    all.push_back({.data = 2, .model = 2, .ranks_per_node = 2, .threads = 2});
  }
  return all;
}

bool takes_tokens(const std::string& layers) { return layers.find("embedding") != std::string::npos; }

std::unique_ptr<Dataset> samples_for(const std::string& layers, std::int64_t count, std::uint64_t seed) {
  if (layers == kSpoken) return std::make_unique<SpokenDataset>(count, 10, seed);
  if (layers == kPacked) return std::make_unique<PackedTokens>(count, 10, seed);
  if (takes_tokens(layers))
    return std::make_unique<TokenDataset>(count, 9, 10, seed, layers == kRagged ? 8 : 0);
  return std::make_unique<NoiseDataset>(count, Shape{8, 8, 1}, 10, seed);
}

Run train(Communicator& world, const Placement& placement, const Work& work) {
  const bool spells = work.layers == kSpoken;
  const bool is_exact = work.settings.find("exact: true") != std::string::npos;
  const ConfigTree tree(
      {.file = "test.yaml",
       .text = std::string("data: {dataset: digits") +
               (takes_tokens(work.layers) || spells ? "" : ", augment: [{random_crop: 1}, horizontal_flip]") +
               (work.layers == kStreams ? ", streams: true" : "") + "}\nmodel: {layers: " + work.layers +
               ", loss: " + (spells ? "ctc" : "softmax_cross_entropy") + "}\ntrain: {batch: 100, metrics: [" +
               (spells     ? ""
                : is_exact ? "accuracy, auc"
                           : "accuracy") +
               "], guards: {steps: 2}, " + work.settings + "}\n"},
      run_settings());
  Mesh mesh(world,
            {.data = placement.data, .model = placement.model, .ranks_per_node = placement.ranks_per_node});
  ThreadPool pool(placement.threads, true);
  Data data{
      .name = "noise", .train = samples_for(work.layers, 207, 1), .test = samples_for(work.layers, 103, 2)};
  data.augmentation = Augmentation(tree.root().at("data").items("augment"), data.train->sample(), 1);
  data.mixing = Mixing({.mixup = work.mixup, .samples = 207, .sample = data.train->sample()});
  Session session(tree.root(), std::move(data), mesh, pool);
  if (!placement.speeds.empty()) session.divide(tree.root(), shares_by_speed(session, placement.speeds));
  TrainingRun trainer(tree.root(), session,
                      {.initial_weights = work.initial_weights,
                       .reducer = {.bucket_floats = 500,
                                   .cut_floats = 300,
                                   .share = placement.share,
                                   .oversubscribed = true,
                                   .sharding = placement.sharding}});
  if (work.from) {
    if (world.rank() == 0) trainer.check_fit(*work.from, "there");
    trainer.restore(world.rank() == 0 ? *work.from : Checkpoint{});
  }
  Run run;
  Losses losses(run.losses);
  LoggedLayers layers(run.layers);
  ChainLines chain(run.chain);
  const TemporaryFolder folder;
  trainer.run({&losses, &layers, &chain}, folder.path(), work.hook);
  run.evaluation = evaluate(session, *session.data().test);
  if (world.rank() == 0) {
    run.end = read_checkpoint(folder.path() / "last");
    REQUIRE_FALSE(run.weights().empty());
  }
  return run;
}

std::string message_of(const std::string& layers, const std::string& settings, const Placement& placement,
                       ExitCode code) {
  try {
    train(test_world(), placement, {layers, settings});
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.diagnostics()[0].place + ": " + error.diagnostics()[0].what;
  }
  return "no error";
}

void check_same_bits(const Run& run, const Run& reference) {
  if (test_world().rank() != 0) return;
  CHECK(run.losses == reference.losses);
  REQUIRE(run.weights().size() == reference.weights().size());
  for (std::size_t tensor = 0; tensor < run.weights().size(); ++tensor)
    CHECK(run.weights()[tensor].values == reference.weights()[tensor].values);
}

double squared_change(const Run& run, const Run& before, std::size_t tensor) {
  double squares = 0;
  for (std::size_t k = 0; k < run.weights()[tensor].values.size(); ++k)
    squares += std::pow(
        static_cast<double>(run.weights()[tensor].values[k]) - before.weights()[tensor].values[k], 2);
  return squares;
}

}  // namespace trainer
