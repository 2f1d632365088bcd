// Asynchronous SGD is held to synchronous training on one rank, and on several ranks to its bound.
#include "models/asynchronous/asynchronous_trainer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "engine/config/config_tree.h"
#include "models/runs/training_run.h"
#include "tests/models/training/placed_run.h"
#include "tests/support/noise_dataset.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

const std::string kAsync = ", async: {staleness: 3}";

/// Makes one rank slow.
class Slow final : public Hook {
 public:
  Slow(int rank, std::chrono::milliseconds time)
      : time_(test_world().rank() == rank ? time : std::chrono::milliseconds(0)) {}
  void after_share(int, std::span<const std::int64_t>) override {
    std::this_thread::sleep_for(time_);
    ++units;
  }
  std::int64_t units = 0;

 private:
  std::chrono::milliseconds time_;
};

class Log final : public Observer {
 public:
  void on_step(const StepReport& report) override {
    steps.push_back(report.step);
    REQUIRE(report.staleness);
    if (report.logged) lines.push_back(*report.staleness);
  }
  void on_epoch(const EpochReport& report) override {
    REQUIRE(report.staleness);
    epochs.push_back(*report.staleness);
  }
  std::vector<std::int64_t> steps;
  std::vector<Staleness> lines, epochs;
};

struct SlowRun {
  Log log;
  std::int64_t units = 0;  ///< of this rank
};

/// Four epochs of 207 samples in batches of 20, with one slow rank.
SlowRun train_with_slow_rank(std::int64_t bound, int slow_rank) {
  const ConfigTree tree(
      {.file = "test.yaml",
       .text =
           "data: {dataset: digits}\nmodel: {layers: " + std::string(kPairs) +
           ", loss: softmax_cross_entropy}\ntrain: {batch: 20, epochs: 4, checkpoint: never, log_every: 2, "
           "optimizer: {sgd: {lr: 0.02, momentum: 0.9}}, async: {staleness: " +
           std::to_string(bound) + "}}\n"},
      run_settings());
  Mesh mesh(test_world(), {.data = test_world().size()});
  ThreadPool pool(1, true);
  Data data{.name = "noise", .train = samples_for(kPairs, 207, 1)};
  Session session(tree.root(), std::move(data), mesh, pool);
  TrainingRun run(tree.root(), session, {.reducer = {.oversubscribed = true}});
  const TemporaryFolder folder;
  SlowRun result;
  // Others update as often as the bound allows meanwhile.
  Slow slow(slow_rank, std::chrono::milliseconds(20 + 10 * bound));
  run.run({&result.log}, folder.path(), &slow);
  result.units = slow.units;
  return result;
}

}  // namespace

TEST_CASE("on one rank an asynchronous run has the bits of a synchronous one", "[async][1 rank]") {
  const auto [layers, settings] = GENERATE(table<std::string, std::string>({
      {kMlp, kSgd},
      {kConvnet, std::string(kAdam) + ", clip_norm: 0.5, clip_value: 0.1"},
      {kConvnet,
       "optimizer: {sgd: {lr: 0.1, momentum: 0.5}}, schedule: {one_cycle: {momentum: {high: 0.9}}}"},
      {kGpt, kAdam},
      {kRagged, "optimizer: muon"},
  }));
  const int threads = GENERATE(1, 3);
  INFO(layers << ", " << threads << " threads");
  const std::string epochs = settings + ", epochs: 2";
  const Run plain = train(test_world(), {.threads = threads}, {layers, epochs});
  const Run async = train(test_world(), {.threads = threads}, {layers, epochs + kAsync});
  check_same_bits(async, plain);
  CHECK(async.evaluation.loss == plain.evaluation.loss);
  for (std::size_t i = 0; i < plain.end.optimizer.size(); ++i)
    CHECK(async.end.optimizer[i].values == plain.end.optimizer[i].values);
}

TEST_CASE("with a bound of 0 ranks update one after the other, so all of a rate of nearly 0 is one step",
          "[async]") {
  // The gradient of a smooth network hardly changes from unit to unit, so the sum of the updates is that of
  // one batch. A ReLU could change between two units.
  const std::string smooth = "[{dense: {units: 20, activation: tanh}}, {dense: 10}]";
  const std::string settings = "optimizer: {sgd: {lr: 0.001}}, evaluate: never, steps: 1";
  const auto alone = solo();
  const Run initial = train(*alone, {}, {smooth, "optimizer: {sgd: {lr: 0.001}}, evaluate: never, steps: 0"});
  const Run plain = train(*alone, {}, {smooth, settings});
  const std::string staleness = GENERATE("0", "1", "8");
  const Run async = train(test_world(), {.data = test_world().size()},
                          {smooth, settings + ", async: {staleness: " + staleness + "}"});
  if (test_world().rank() != 0) return;
  for (std::size_t i = 0; i < plain.weights().size(); ++i) {
    double difference = 0, change = 0;
    for (std::size_t k = 0; k < plain.weights()[i].values.size(); ++k) {
      const auto one = static_cast<double>(plain.weights()[i].values[k]);
      difference = std::max(difference, std::abs(one - static_cast<double>(async.weights()[i].values[k])));
      change = std::max(change, std::abs(one - static_cast<double>(initial.weights()[i].values[k])));
    }
    CHECK(difference < 0.02 * change);
  }
}

TEST_CASE("momentum and values of an asynchronous run are those of a synchronous one at a small rate",
          "[async]") {
  const std::string smooth = "[{dense: {units: 20, activation: tanh}}, {dense: 10}]";
  const std::string settings = "optimizer: {sgd: {lr: 1.0e-4, momentum: 0.9}}, evaluate: never, steps: ";
  // The order of the units shifts their weights; whole steps of the momentum differ by 0.16.
  const auto alone = solo();
  const Run initial = train(*alone, {}, {smooth, settings + "0"});
  const Run plain = train(*alone, {}, {smooth, settings + "12"});
  const Run async =
      train(test_world(), {.data = test_world().size()}, {smooth, settings + "12, async: {staleness: 1}"});
  if (test_world().rank() != 0) return;
  for (std::size_t i = 0; i < plain.weights().size(); ++i) {
    const double change = squared_change(plain, initial, i);
    INFO("weights " << squared_change(async, plain, i) / change);
    CHECK(squared_change(async, plain, i) < 0.003 * change);
  }
  for (std::size_t i = 0; i < plain.end.optimizer.size(); ++i) {
    double difference = 0, size = 0;
    for (std::size_t k = 0; k < plain.end.optimizer[i].values.size(); ++k) {
      const auto one = static_cast<double>(plain.end.optimizer[i].values[k]);
      difference += std::pow(one - static_cast<double>(async.end.optimizer[i].values[k]), 2);
      size += one * one;
    }
    INFO("momentum " << difference / size);
    CHECK(difference < 0.003 * size);
  }
}

TEST_CASE("ranks compute on parameters ahead along the momentum", "[async][2+ ranks]") {
  // A step of the momentum is as long as the weights, so that the loss follows how far ahead a rank is. The
  // gradients themselves hardly move them.
  const std::string layers = "[{dense: 10}]", settings =
                                                  "optimizer: {sgd: {lr: 1.0e-5, momentum: 0.9}}, evaluate: "
                                                  "never, steps: ";
  const int ranks = test_world().size();
  const auto alone = solo();
  const Run before = train(*alone, {}, {layers, settings + "1"});
  // The loss of the second step where `steps` of it are done.
  const auto loss = [&](float steps) {
    Checkpoint moved = before.end;
    for (NamedTensor& weights : moved.model)
      for (float& value : weights.values) value *= 1 + steps;
    return train(*alone, {}, {.layers = layers, .settings = settings + "2", .from = &moved}).losses.back();
  };
  Checkpoint start = before.end;
  for (NamedTensor& momentum : start.optimizer) {
    const auto weights =
        std::ranges::find(start.model, momentum.name.substr(0, momentum.name.rfind('.')), &NamedTensor::name);
    REQUIRE(weights != start.model.end());
    for (std::size_t i = 0; i < momentum.values.size(); ++i)
      momentum.values[i] = -weights->values[i] / (1.0e-5f * 0.9f);
  }
  // All read the parameters before the first one updates them.
  Slow slow(test_world().rank(), std::chrono::milliseconds(300));
  const Run async = train(test_world(), {.data = ranks},
                          {.layers = layers,
                           .settings = settings + "2, async: {staleness: " + std::to_string(ranks - 1) + "}",
                           .from = &start,
                           .hook = &slow});
  if (test_world().rank() != 0) return;
  // Of N ranks the k-th one, from 0 on, expects k updates of 1 / N step each.
  const float mean = static_cast<float>(ranks - 1) / static_cast<float>(2 * ranks);
  INFO(loss(0) << ", " << loss(mean) << "; async " << async.losses.back());
  REQUIRE(loss(mean) > 1.01 * loss(0));
  CHECK(async.losses.back() > loss(0.75f * mean));
}

TEST_CASE("no gradient is staler than the bound beside a slow rank, and others take its work",
          "[async][2+ ranks]") {
  const std::int64_t bound = GENERATE(0, 1, 3, 8);
  const int ranks = test_world().size();
  const SlowRun run = train_with_slow_rank(bound, ranks - 1);
  std::int64_t units = run.units;
  test_world().sum(std::span(&units, 1));
  // Ten batches of 20 samples and one of 7 in an epoch.
  CHECK(units == 4 * 11 * ranks);
  if (bound >= 3 && test_world().rank() == ranks - 1) CHECK(run.units < units / ranks);
  if (test_world().rank() != 0) return;
  std::vector<std::int64_t> steps(44);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<std::int64_t>(i) + 1;
  CHECK(run.log.steps == steps);
  CHECK(run.log.lines.size() == 22);
  REQUIRE(run.log.epochs.size() == 4);
  std::int64_t largest = 0;
  for (const Staleness& line : run.log.lines) CHECK(line.max <= bound);
  for (const Staleness& epoch : run.log.epochs) {
    CHECK(epoch.mean <= static_cast<double>(epoch.max));
    largest = std::max(largest, epoch.max);
  }
  // The slow rank's gradients get as stale as they may.
  CHECK(largest == bound);
}

TEST_CASE("an asynchronous run trains on every number of ranks and threads, and resumes", "[async]") {
  const auto [layers, settings] =
      GENERATE(table<std::string, std::string>({{kConvnet, "optimizer: {sgd: {lr: 0.02, momentum: 0.9}}"},
                                                {kGpt, "optimizer: {adamw: {lr: 0.003}}"}}));
  const int threads = GENERATE(1, 2);
  const Placement placement{.data = test_world().size(), .threads = threads};
  INFO(text(placement) << ", " << layers);
  const Run before = train(test_world(), placement, {layers, settings + kAsync + ", epochs: 2"});
  const Run after =
      train(test_world(), placement,
            {.layers = layers, .settings = settings + kAsync + ", epochs: 6", .from = &before.end});
  if (test_world().rank() != 0) return;
  REQUIRE(before.losses.size() == 6);
  REQUIRE(after.losses.size() == 12);
  CHECK(after.end.state.step == 18);
  CHECK(after.losses.back() < 0.98 * before.losses.front());
}

TEST_CASE("an asynchronous run saves and evaluates within an epoch when these are due", "[async]") {
  const Run run = train(test_world(), {.data = test_world().size()},
                        {kMlp, std::string(kSgd) + kAsync +
                                   ", steps: 5, evaluate: {steps: 2}, checkpoint: "
                                   "{steps: 2}"});
  if (test_world().rank() != 0) return;
  CHECK(run.losses.size() == 5);
  CHECK(run.end.state.step == 5);
}

TEST_CASE("a gradient that is not finite ends an asynchronous run on all ranks, and its step is named",
          "[async]") {
  const std::string message = message_of(kPairs, "optimizer: {sgd: {lr: 1.0e30}}, steps: 6" + kAsync,
                                         {.data = test_world().size()}, ExitCode::diverged);
  CHECK(message.find(" at epoch 1, step ") != std::string::npos);
}

TEST_CASE("modelpar and layers that keep their state are errors of async", "[async]") {
  const std::string settings = "optimizer: {sgd: {lr: 0.1}}, steps: 1, async: {}";
  const int ranks = test_world().size();
  if (ranks > 1)
    CHECK(message_of(kMlp, settings, {.data = 1, .model = ranks}, ExitCode::ranks)
              .find("compute whole models") != std::string::npos);
  CHECK(message_of(kStreams, settings, {.data = ranks}, ExitCode::usage)
            .find("a layer keeps its state between batches") != std::string::npos);
}

}  // namespace trainer
