// Local SGD is held to synchronous training where both are the same, and to itself on every placement.
#include "models/local/local_trainer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/models/training/placed_run.h"

namespace trainer {
namespace {

const std::string kNesterov =
    ", local: {steps: 2, virtual_workers: 8, outer: {nesterov: {lr: 0.7, momentum: 0.9}}}";

const std::string kAveraged = ", local: {steps: 2, virtual_workers: 8, optimizer_states: average}";

std::vector<Placement> data_placements(int ranks) {
  std::vector<Placement> all = placements(ranks);
  std::erase_if(all, [](const Placement& placement) { return placement.model > 1; });
  all.push_back({.data = ranks, .threads = 5});
  return all;
}

/// The largest difference of two runs' weights, over the largest change since `initial`.
double largest_difference(const Run& run, const Run& reference, const Run& initial) {
  double difference = 0, change = 0;
  for (std::size_t i = 0; i < run.weights().size(); ++i)
    for (std::size_t k = 0; k < run.weights()[i].values.size(); ++k) {
      const double expected = static_cast<double>(reference.weights()[i].values[k]);
      difference = std::max(difference, std::abs(static_cast<double>(run.weights()[i].values[k]) - expected));
      change = std::max(change, std::abs(expected - static_cast<double>(initial.weights()[i].values[k])));
    }
  return difference / change;
}

}  // namespace

TEST_CASE("the mean after one step of each virtual worker is the step of synchronous SGD", "[local]") {
  const std::string layers = GENERATE(kMlp, kPairs, kGpt);
  const std::string sgd = "optimizer: {sgd: {lr: 0.5}}, evaluate: never, steps: ";
  const auto alone = solo();
  const Run initial = train(*alone, {}, {layers, sgd + "0"});
  const Run synchronous = train(*alone, {}, {layers, sgd + "2"});
  for (const Placement& placement : data_placements(test_world().size())) {
    INFO(text(placement) << ", " << layers);
    const Run local =
        train(test_world(), placement, {layers, sgd + "2, local: {steps: 1, virtual_workers: 5}"});
    if (test_world().rank() != 0) continue;
    CHECK(largest_difference(local, synchronous, initial) < 1e-5);
    REQUIRE(local.losses.size() == 2);
    CHECK(local.losses[0] == Approx(synchronous.losses[0]).epsilon(1e-6));
    CHECK(local.losses[1] == Approx(synchronous.losses[1]).epsilon(1e-5));
  }
}

TEST_CASE("one virtual worker that is averaged with itself trains as without local SGD", "[local][1 rank]") {
  const std::string settings = std::string(kSgd) + ", clip_norm: 0.5, epochs: 2";
  const auto alone = solo();
  const Run initial = train(*alone, {}, {kConvnet, std::string(kSgd) + ", steps: 0"});
  const Run plain = train(*alone, {}, {kConvnet, settings});
  const Run local = train(*alone, {}, {kConvnet, settings + ", local: {steps: 2, virtual_workers: 1}"});
  CHECK(largest_difference(local, plain, initial) < 1e-4);
  CHECK(local.evaluation.loss == Approx(plain.evaluation.loss).epsilon(1e-4));
  CHECK(local.losses.size() == 4);
}

TEST_CASE("averaged states are the mean of those that virtual workers would keep", "[local]") {
  const std::string settings = std::string(kSgd) + ", steps: 2, local: {steps: 2, virtual_workers: 5";
  const Placement placement{.data = test_world().size()};
  const Run kept = train(test_world(), placement, {kPairs, settings + "}"});
  const Run averaged = train(test_world(), placement, {kPairs, settings + ", optimizer_states: average}"});
  if (test_world().rank() != 0) return;
  const auto momentum = [](const Run& run, int worker) {
    const auto tensor = std::ranges::find(
        run.end.optimizer, "dense1.weight.worker" + std::to_string(worker) + ".momentum", &NamedTensor::name);
    REQUIRE(tensor != run.end.optimizer.end());
    return tensor->values;
  };
  std::vector<double> mean(momentum(kept, 0).size());
  for (int worker = 0; worker < 5; ++worker)
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += static_cast<double>(momentum(kept, worker)[i]) / 5;
  CHECK(momentum(kept, 0) != momentum(kept, 4));
  for (int worker = 0; worker < 5; ++worker) {
    CHECK(momentum(averaged, worker) == momentum(averaged, 0));
    for (std::size_t i = 0; i < mean.size(); ++i)
      REQUIRE(momentum(averaged, worker)[i] == Approx(mean[i]).epsilon(1e-4).margin(1e-6));
  }
}

TEST_CASE("a local run has the same bits wherever it is computed, with and without exact mode", "[local]") {
  const auto [layers, inner] = GENERATE(table<std::string, std::string>({
      {kMlp, kSgd},
      {kConvnet, std::string(kAdam) + ", clip_norm: 0.5, clip_value: 0.1"},
      {kConvnet, "optimizer: {lars: {lr: 2}}, schedule: {one_cycle: {momentum: {high: 0.9}}}"},
      {kGpt, kAdam},
      {kRagged, kAdam},
      {kSpoken, kAdam},
      {kConvnet, std::string(kAdam) + ", compression: bf16"},
      {kMlp, std::string(kSgd) + ", compression: {one_bit: {min_size: 0}}"},
      {kGpt, std::string(kAdam) + ", compression: {one_bit: {min_size: 0}}"},
  }));
  const std::string local = layers == kConvnet ? kAveraged : kNesterov;
  // The last batch of an epoch has 7 samples: one of 8 virtual workers has none.
  const std::string settings = inner + ", epochs: 2" + local;
  const auto alone = solo();
  const Run reference = train(*alone, {}, {layers, settings + ", exact: true", "", layers == kMlp ? 0.4 : 0});
  for (const Placement& placement : data_placements(test_world().size())) {
    const std::string mode = placement.threads > 1 ? "" : ", exact: true";
    const Run run = train(test_world(), placement, {layers, settings + mode, "", layers == kMlp ? 0.4 : 0});
    INFO(text(placement) << ", " << layers);
    check_same_bits(run, reference);
    if (!mode.empty()) CHECK(run.evaluation.loss == reference.evaluation.loss);
    if (test_world().rank() == 0) CHECK(run.losses.size() == 4);
  }
}

TEST_CASE("a local run that resumes, on another placement too, has the bits of one that never stopped",
          "[local]") {
  const int stop = GENERATE(2, 3, 5);
  const std::string settings = std::string(kAdam) +
                               GENERATE(as<std::string>{}, kNesterov, kAveraged,
                                        kNesterov + ", compression: {one_bit: {min_size: 0}}") +
                               ", steps: ";
  const auto alone = solo();
  const Run whole = train(*alone, {}, {kConvnet, settings + "8"});
  for (const Placement& first : {Placement{.data = test_world().size()},
                                 Placement{.data = test_world().size(), .threads = 3, .share = false}}) {
    const Run before = train(test_world(), first, {kConvnet, settings + std::to_string(stop)});
    for (const Placement& second : {first, Placement{.data = test_world().size(), .ranks_per_node = 1}}) {
      INFO(text(first) << ", then " << text(second) << ", stopped after " << stop << ", " << settings);
      const Run after =
          train(test_world(), second, {.layers = kConvnet, .settings = settings + "8", .from = &before.end});
      if (test_world().rank() != 0) continue;
      REQUIRE(after.end.optimizer.size() == whole.end.optimizer.size());
      for (std::size_t i = 0; i < whole.end.optimizer.size(); ++i) {
        CHECK(after.end.optimizer[i].name == whole.end.optimizer[i].name);
        CHECK(after.end.optimizer[i].values == whole.end.optimizer[i].values);
      }
      for (std::size_t i = 0; i < whole.weights().size(); ++i)
        CHECK(after.weights()[i].values == whole.weights()[i].values);
      CHECK(after.end.state.epoch_sums.loss == whole.end.state.epoch_sums.loss);
    }
  }
}

TEST_CASE("a checkpoint of a local run holds the states of every virtual worker", "[local]") {
  const Run run =
      train(test_world(), {.data = test_world().size()},
            {kPairs, std::string(kSgd) + ", steps: 3, local: {steps: 2, virtual_workers: 5, outer: "
                                         "nesterov}"});
  if (test_world().rank() != 0) return;
  const auto values = [&](const std::string& name) {
    const auto tensor = std::ranges::find(run.end.optimizer, name, &NamedTensor::name);
    REQUIRE(tensor != run.end.optimizer.end());
    return tensor->values;
  };
  CHECK(run.end.optimizer.size() == 6 * run.weights().size());
  CHECK(values("dense1.weight.worker0.momentum") != values("dense1.weight.worker4.momentum"));
  CHECK(values("dense1.weight.outer_momentum") != values("dense1.weight.worker0.momentum"));
}

TEST_CASE("with bf16 a round rounds differences and changes, and virtual workers train in float32",
          "[local]") {
  const std::string settings =
      std::string(kAdam) + ", local: {steps: 3, virtual_workers: 5}, evaluate: never";
  const auto alone = solo();
  const Run initial = train(*alone, {}, {kPairs, settings + ", steps: 0"});
  const Run in_float = train(*alone, {}, {kPairs, settings + ", steps: 3"});
  for (const Placement& placement : data_placements(test_world().size())) {
    INFO(text(placement));
    const Run run = train(test_world(), placement, {kPairs, settings + ", steps: 3, compression: bf16"});
    if (test_world().rank() != 0) continue;
    CHECK(run.losses == in_float.losses);
    const double difference = largest_difference(run, in_float, initial);
    CHECK(difference > 1e-4);
    CHECK(difference < 1.0 / 50);
  }
}

TEST_CASE("with one_bit a virtual worker keeps what it has not sent, and checkpoints hold it", "[local]") {
  const std::string settings = std::string(kSgd) + ", steps: 2, local: {steps: 2, virtual_workers: 5}";
  const auto alone = solo();
  const Run initial = train(*alone, {}, {kPairs, std::string(kSgd) + ", steps: 0"});
  const Run in_float = train(*alone, {}, {kPairs, settings});
  const Run run = train(test_world(), {.data = test_world().size()},
                        {kPairs, settings + ", compression: {one_bit: {min_size: 0}}"});
  if (test_world().rank() != 0) return;
  CHECK(run.end.optimizer.size() == 5 * 2 * run.weights().size());
  CHECK(largest_difference(run, in_float, initial) > 0.1);
  // The weights minus the mean of the residuals are those of a run that sends all.
  Run sent = run;
  for (NamedTensor& weights : sent.end.model)
    for (int worker = 0; worker < 5; ++worker) {
      const auto residual = std::ranges::find(run.end.optimizer,
                                              weights.name + ".worker" + std::to_string(worker) + ".residual",
                                              &NamedTensor::name);
      REQUIRE(residual != run.end.optimizer.end());
      for (std::size_t k = 0; k < weights.values.size(); ++k) weights.values[k] -= residual->values[k] / 5;
    }
  CHECK(largest_difference(sent, in_float, initial) < 1e-4);
}

TEST_CASE("running statistics become the mean of the virtual workers', and each restarts from it",
          "[local]") {
  const auto alone = solo();
  const std::string settings = "optimizer: {sgd: {lr: 1.0e-30}}, evaluate: never, steps: 1";
  const Run whole = train(*alone, {}, {kConvnet, settings});
  const Run local = train(test_world(), {.data = test_world().size()},
                          {kConvnet, settings + ", local: {steps: 1, virtual_workers: 5}"});
  if (test_world().rank() != 0) return;
  const auto mean = [](const Run& run) {
    return std::ranges::find(run.weights(), "batch_norm1.running_mean", &NamedTensor::name)->values;
  };
  // The mean of the means of equal shares is the mean.
  for (std::size_t c = 0; c < mean(whole).size(); ++c)
    CHECK(mean(local)[c] == Approx(mean(whole)[c]).epsilon(1e-4));
}

TEST_CASE("a virtual worker that diverges ends the run on all ranks, and its step is named", "[local]") {
  const std::string message =
      message_of(kPairs, "optimizer: {sgd: {lr: 1.0e30}}, steps: 4, local: {steps: 3, virtual_workers: 8}",
                 {.data = test_world().size()}, ExitCode::diverged);
  CHECK(message.find(" at epoch 1, step 2") != std::string::npos);
}

TEST_CASE("more data ranks than virtual workers, or modelpar, are errors of local's keys",
          "[local][2+ ranks]") {
  const int ranks = test_world().size();
  const std::string settings = "optimizer: {sgd: {lr: 0.1}}, steps: 1, local: {steps: 1, virtual_workers: 1}";
  CHECK(message_of(kMlp, settings, {.data = ranks}, ExitCode::ranks)
            .find("1 virtual workers cannot be distributed over") != std::string::npos);
  CHECK(message_of(kMlp, settings, {.data = 1, .model = ranks}, ExitCode::ranks).find("hold whole models") !=
        std::string::npos);
}

TEST_CASE("layers that keep their state between batches are refused in local runs", "[local][1 rank]") {
  CHECK(message_of(kStreams, "optimizer: {sgd: {lr: 0.1}}, steps: 1, local: {steps: 1}", {}, ExitCode::usage)
            .find("a layer keeps its state between batches") != std::string::npos);
}

}  // namespace trainer
