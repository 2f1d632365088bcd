// A run that is stopped and goes on is held to the same run without a stop.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/config/config_tree.h"
#include "models/training/trainer.h"
#include "tests/support/mpi_main.h"
#include "tests/support/noise_dataset.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/token_dataset.h"

namespace trainer {
namespace {

constexpr const char* kLayers =
    "[{conv: {filters: 4, kernel: 3}}, batch_norm, relu, {max_pool: 2}, {dense: {units: 13, activation: "
    "relu}}, "
    "{dropout: 0.3}, {dense: {units: 7, activation: tanh}}, {dense: 10}]";

/// Rows remember something from batch to batch.
constexpr const char* kStreams =
    "[{embedding: {units: 6, vocabulary: 10}}, {lstm: {units: 5, keep_state: true}}, {gru: {units: 6, "
    "keep_state: true}}, {dense: 10}]";

std::unique_ptr<Dataset> samples(bool are_sequences, std::int64_t count, std::uint64_t seed) {
  if (are_sequences) return std::make_unique<TokenDataset>(count, 9, 10, seed);
  return std::make_unique<NoiseDataset>(count, Shape{8, 8, 1}, 10, seed);
}

struct Placement {
  int data = 1, model = 1, threads = 1;
  bool share = true;
};

/// The losses of a run's steps and its last checkpoint, on world rank 0.
struct Run {
  std::vector<double> losses;
  Checkpoint end;
};

class Losses final : public Observer {
 public:
  explicit Losses(std::vector<double>& losses) : losses_(losses) {}
  void on_step(const StepReport& report) override { losses_.push_back(report.scores.loss); }

 private:
  std::vector<double>& losses_;
};

/// Trains up to `steps`, from a checkpoint if there is one.
Run train(Communicator& world, const Placement& placement, int steps, const Checkpoint* from = nullptr,
          const std::string& optimizer = "adam: {lr: 0.01}", const std::string& more = "",
          const char* layers = kLayers) {
  const bool in_streams = layers == kStreams;
  const ConfigTree tree(
      {.file = "test.yaml",
       .text = std::string("data: {dataset: digits, ") +
               (in_streams ? "streams: true" : "augment: [{random_crop: 1}, horizontal_flip]") +
               "}\nmodel: {layers: " + layers +
               ", loss: softmax_cross_entropy}\ntrain: {batch: 50, metrics: [accuracy], optimizer: {" +
               optimizer + "}, steps: " + std::to_string(steps) + more + "}\n"},
      run_settings());
  Mesh mesh(world, {.data = placement.data, .model = placement.model});
  ThreadPool pool(placement.threads, true);
  Data data{.name = "noise", .train = samples(in_streams, 207, 1), .test = samples(in_streams, 103, 2)};
  data.augmentation = Augmentation(tree.root().at("data").items("augment"), data.train->sample(), 1);
  Session session(tree.root(), std::move(data), mesh, pool);
  Trainer trainer(tree.root(), session,
                  {.reducer = {.bucket_floats = 500, .share = placement.share, .crowded = true}});
  if (from) {
    if (world.rank() == 0) trainer.check_fit(*from, "there");
    trainer.restore(world.rank() == 0 ? *from : Checkpoint{});
  }
  Run run;
  Losses losses(run.losses);
  const TemporaryFolder folder;
  trainer.run({&losses}, folder.path());
  if (world.rank() == 0) run.end = read_checkpoint(folder.path() / "last");
  return run;
}

/// The largest difference between two lists of tensors.
double largest_difference(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  REQUIRE(a.size() == b.size());
  double difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].name == b[i].name);
    REQUIRE(a[i].values.size() == b[i].values.size());
    for (std::size_t k = 0; k < a[i].values.size(); ++k)
      difference = std::max(difference, std::abs(static_cast<double>(a[i].values[k]) - b[i].values[k]));
  }
  return difference;
}

std::vector<Placement> placements(int ranks) {
  std::vector<Placement> all{
      {.data = ranks}, {.data = 1, .model = ranks}, {.data = ranks, .threads = 2, .share = false}};
  if (ranks == 4) all.push_back({.data = 2, .model = 2});
  return all;
}

}  // namespace

TEST_CASE("a run that goes on, in the middle of an epoch too, ends with the bits of one that never stopped",
          "[training]") {
  const int stop = GENERATE(1, 5, 8);
  const char* const layers = GENERATE(kLayers, kStreams);
  const std::string optimizer = "adam: {lr: 0.01}";
  constexpr int kEnd = 12;
  for (const Placement& placement : placements(test_world().size())) {
    INFO(layers << " stopped after " << stop << " on " << placement.data << "x" << placement.model);
    const Run whole = train(test_world(), placement, kEnd, nullptr, optimizer, "", layers);
    const Run before = train(test_world(), placement, stop, nullptr, optimizer, "", layers);
    const Run after = train(test_world(), placement, kEnd, &before.end, optimizer, "", layers);
    if (test_world().rank() != 0) continue;
    CHECK(after.losses == std::vector<double>(whole.losses.begin() + stop, whole.losses.end()));
    CHECK(largest_difference(after.end.model, whole.end.model) == 0);
    CHECK(largest_difference(after.end.optimizer, whole.end.optimizer) == 0);
    CHECK(after.end.state.epoch_sums.loss == whole.end.state.epoch_sums.loss);
    CHECK(after.end.state.files == whole.end.state.files);
  }
}

TEST_CASE("a run that goes on keeps the mean of its weights and what its schedule has seen", "[training]") {
  const std::string more =
      ", average: 0.9, accumulate: 2, evaluate: {steps: 1}, "
      "schedule: {plateau: {patience: 1, factor: 0.5, threshold: 0.9}}";
  for (const Placement& placement : placements(test_world().size())) {
    const Run whole = train(test_world(), placement, 9, nullptr, "adam: {lr: 0.01}", more);
    const Run before = train(test_world(), placement, 5, nullptr, "adam: {lr: 0.01}", more);
    const Run after = train(test_world(), placement, 9, &before.end, "adam: {lr: 0.01}", more);
    if (test_world().rank() != 0) continue;
    CHECK(after.losses == std::vector<double>(whole.losses.begin() + 5, whole.losses.end()));
    CHECK(after.end.state.schedule == whole.end.state.schedule);
    CHECK(after.end.state.schedule[0] < 0.01);
    CHECK(largest_difference(after.end.model, whole.end.model) == 0);
    CHECK(largest_difference(after.end.optimizer, whole.end.optimizer) == 0);
  }
}

TEST_CASE("a run goes on alike wherever its checkpoint was made", "[training]") {
  const std::string optimizer = "sgd: {lr: 0.02, momentum: 0.9}";
  const auto alone = solo();
  const Run whole = train(*alone, {}, 12, nullptr, optimizer);
  for (const Placement& first : placements(test_world().size())) {
    const Run before = train(test_world(), first, 7, nullptr, optimizer);
    for (const Placement& second : placements(test_world().size())) {
      INFO(first.data << "x" << first.model << ", then " << second.data << "x" << second.model);
      const Run after = train(test_world(), second, 12, &before.end, optimizer);
      if (test_world().rank() != 0) continue;
      CHECK(largest_difference(after.end.model, whole.end.model) < 1e-5);
      for (std::size_t i = 0; i < after.losses.size(); ++i)
        CHECK(after.losses[i] == Approx(whole.losses[7 + i]).epsilon(1e-5));
    }
  }
}

TEST_CASE("a checkpoint of another model, or of other data, is refused", "[training]") {
  if (test_world().size() > 1) return;
  const Run run = train(test_world(), {}, 1);
  Checkpoint other = run.end;
  other.optimizer.pop_back();
  CHECK_THROWS_WITH(train(test_world(), {}, 2, &other), Catch::Contains("the file has no"));
  other = run.end;
  other.state.data = "something else";
  CHECK_THROWS_WITH(train(test_world(), {}, 2, &other),
                    Catch::Contains("the data is not what the run learned from"));
}

}  // namespace trainer
