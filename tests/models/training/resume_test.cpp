// A run that is stopped and resumes is held to the same run without a stop.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/models/training/built_session.h"
#include "tests/models/training/placed_run.h"
#include "tests/support/noise_dataset.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

constexpr const char* kLayers =
    "[{conv: {filters: 4, kernel: 3}}, batch_norm, relu, {max_pool: 2}, {dense: {units: 13, activation: "
    "relu}}, {dropout: 0.3}, {dense: {units: 7, activation: tanh}}, {dense: 10}]";

/// Trains up to `steps`, from a checkpoint if there is one.
Run train_until(int steps, const Placement& placement, const std::string& settings,
                const Checkpoint* from = nullptr, const char* layers = kLayers) {
  return train(test_world(), placement,
               {.layers = layers, .settings = settings + ", steps: " + std::to_string(steps), .from = from});
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

/// Some: each of them is tried with each.
std::vector<Placement> some_placements(int ranks) {
  std::vector<Placement> all{{.data = ranks},
                             {.data = 1, .model = ranks},
                             {.data = ranks, .threads = 2, .share = false},
                             {.data = ranks, .sharding = Sharding::parameters}};
  if (ranks == 4) all.push_back({.data = 2, .model = 2});
  return all;
}

}  // namespace

TEST_CASE("a run that resumes, in the middle of an epoch too, ends with the bits of one that never stopped",
          "[training]") {
  const int stop = GENERATE(1, 6, 8);
  const char* const layers = GENERATE(kLayers, kStreams, kAdapted);
  constexpr int kEnd = 12;
  for (const Placement& placement : some_placements(test_world().size())) {
    INFO(layers << " stopped after " << stop << " on " << placement.data << "x" << placement.model);
    const Run whole = train_until(kEnd, placement, kAdam, nullptr, layers);
    const Run before = train_until(stop, placement, kAdam, nullptr, layers);
    const Run after = train_until(kEnd, placement, kAdam, &before.end, layers);
    if (test_world().rank() != 0) continue;
    CHECK(after.losses == std::vector<double>(whole.losses.begin() + stop, whole.losses.end()));
    CHECK(largest_difference(after.end.model, whole.end.model) == 0);
    CHECK(largest_difference(after.end.optimizer, whole.end.optimizer) == 0);
    CHECK(after.end.state.epoch_sums.loss == whole.end.state.epoch_sums.loss);
    CHECK(after.end.state.files == whole.end.state.files);
  }
}

TEST_CASE("a run that resumes keeps the EMA of its weights and the state of its schedule", "[training]") {
  const std::string settings = std::string(kAdam) +
                               ", ema: 0.9, accumulate: 2, evaluate: {steps: 1}, "
                               "schedule: {plateau: {patience: 1, factor: 0.5, threshold: 0.9}}";
  for (const Placement& placement : some_placements(test_world().size())) {
    const Run whole = train_until(9, placement, settings);
    const Run before = train_until(5, placement, settings);
    const Run after = train_until(9, placement, settings, &before.end);
    if (test_world().rank() != 0) continue;
    CHECK(after.losses == std::vector<double>(whole.losses.begin() + 5, whole.losses.end()));
    CHECK(after.end.state.schedule == whole.end.state.schedule);
    CHECK(after.end.state.schedule[0] < 0.003);
    CHECK(largest_difference(after.end.model, whole.end.model) == 0);
    CHECK(largest_difference(after.end.optimizer, whole.end.optimizer) == 0);
  }
}

TEST_CASE("a run resumes alike wherever its checkpoint was made", "[training]") {
  const char* const layers = GENERATE(kLayers, kGpt);
  const auto alone = solo();
  const Run whole = train(*alone, {}, {layers, std::string(kSgd) + ", steps: 12"});
  for (const Placement& first : some_placements(test_world().size())) {
    const Run before = train_until(7, first, kSgd, nullptr, layers);
    for (const Placement& second : some_placements(test_world().size())) {
      INFO(first.data << "x" << first.model << ", then " << second.data << "x" << second.model);
      const Run after = train_until(12, second, kSgd, &before.end, layers);
      if (test_world().rank() != 0) continue;
      CHECK(largest_difference(after.end.model, whole.end.model) < 1e-5);
      for (std::size_t i = 0; i < after.losses.size(); ++i)
        CHECK(after.losses[i] == Approx(whole.losses[7 + i]).epsilon(1e-5));
    }
  }
}

TEST_CASE("a checkpoint of another model, or of other data, is refused", "[training][1 rank]") {
  const Run run = train_until(1, {}, kAdam);
  Checkpoint other = run.end;
  other.optimizer.pop_back();
  CHECK_THROWS_WITH(train_until(2, {}, kAdam, &other), Catch::Contains("the file has no"));
  other = run.end;
  other.state.data = "something else";
  CHECK_THROWS_WITH(train_until(2, {}, kAdam, &other),
                    Catch::Contains("the data is not what the run learned from"));
  other = run.end;
  other.state.best.emplace();
  CHECK_THROWS_WITH(train_until(2, {}, kAdam, &other), Catch::Contains("other metrics"));
}

TEST_CASE(
    "what metrics of many outputs have added up comes back in the middle of an epoch; too many are refused",
    "[training][1 rank]") {
  const auto session = [](int outputs) {
    const auto samples = [&] { return std::make_unique<NoiseDataset>(8, Shape{2, 2, 1}, outputs, 1); };
    return std::make_unique<BuiltSession>(
        test_world(),
        BuiltSession::Text{"[{dense: " + std::to_string(outputs) + "}]", "mse",
                           "steps: 1, batch: 4, metrics: [r2], optimizer: {sgd: {lr: 0.1}}"},
        Data{.name = "noise", .train = samples(), .test = samples()});
  };
  constexpr int kOutputs = 40'000;
  const TemporaryFolder folder;
  session(kOutputs)->train(folder.path());
  CHECK(read_checkpoint(folder.path() / "last").state.epoch_sums.metrics.size() == 1 + 3 * kOutputs);
  CHECK_THROWS_WITH(session(200'000), Catch::Contains("metrics add up 600001 values in every step"));
}

}  // namespace trainer
