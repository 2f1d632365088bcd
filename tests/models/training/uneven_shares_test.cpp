// Ranks with uneven shares of a batch compute what one process does.
#include <catch2/catch.hpp>
#include <chrono>
#include <numeric>
#include <thread>

#include "engine/config/config_tree.h"
#include "models/runs/training_run.h"
#include "models/training/balance.h"
#include "tests/models/training/placed_run.h"
#include "tests/support/noise_dataset.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

/// The placements of this many ranks with several data ranks, if there can be several, of which each is
/// faster than the one before.
std::vector<Placement> uneven_placements(int ranks) {
  std::vector<Placement> all;
  for (Placement placement : placements(ranks)) {
    if (placement.data == 1 && ranks > 1) continue;
    placement.speeds.resize(static_cast<std::size_t>(placement.data));
    std::iota(placement.speeds.begin(), placement.speeds.end(), 1.0);
    placement.speeds.back() *= 2;
    all.push_back(placement);
  }
  return all;
}

/// Noise that takes a millisecond a sample.
class SlowSamples final : public Dataset {
 public:
  SlowSamples() : Dataset({.size = 40, .sample = {8, 8, 1}, .classes = 10}), noise_(40, {8, 8, 1}, 10, 1) {}
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    noise_.read_labels(indices, labels);
  }
  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(indices.size()));
    noise_.read(indices, x);
  }

 private:
  NoiseDataset noise_;
};

}  // namespace

TEST_CASE("in exact mode uneven shares have the bits of one process", "[training]") {
  const auto [layers, virtual_workers] = GENERATE(table<std::string, int>(
      {{kMlp, 8}, {kPairs, 8}, {kConvnet, 7}, {kRagged, 7}, {kGpt, 7}, {kStreams, 7}, {kSpoken, 7}}));
  const std::string settings =
      std::string(takes_tokens(layers) ? kAdam : kSgd) +
      ", epochs: 1, exact: true, virtual_workers: " + std::to_string(virtual_workers) +
      (layers == kStreams ? "" : ", crosscheck: 2");
  const auto alone = solo();
  const Run reference = train(*alone, {}, {layers, settings});
  for (const Placement& placement : uneven_placements(test_world().size())) {
    INFO(text(placement) << ", " << layers);
    const Run run = train(test_world(), placement, {layers, settings});
    CHECK(run.evaluation.loss == reference.evaluation.loss);
    check_same_bits(run, reference);
  }
}

TEST_CASE("losses and scores of uneven shares are those of one process, with micro-batches and a short batch",
          "[training]") {
  const std::string layers = GENERATE(kMlp, kConvnet, kWide, kRagged, kGpt, kSpoken, kPacked);
  const bool accumulates = layers != kConvnet && GENERATE(false, true);
  const std::string settings = std::string(takes_tokens(layers) ? kAdam : kSgd) + ", epochs: 2" +
                               (accumulates ? ", accumulate: 4" : "");
  const auto alone = solo();
  const Run reference = train(*alone, {}, {layers, settings});
  for (const Placement& placement : uneven_placements(test_world().size())) {
    INFO(text(placement) << ", " << layers);
    const Run run = train(test_world(), placement, {layers, settings});
    CHECK(run.evaluation.samples == 103);
    CHECK(run.evaluation.loss == Approx(reference.evaluation.loss).epsilon(1e-4));
    if (test_world().rank() != 0) continue;
    REQUIRE(run.losses.size() == reference.losses.size());
    for (std::size_t step = 0; step < run.losses.size(); ++step)
      CHECK(run.losses[step] == Approx(reference.losses[step]).epsilon(1e-4));
  }
}

TEST_CASE(
    "a checkpoint has the shares of its ranks, with which a run resumes to the bits of one that never "
    "stopped",
    "[training]") {
  const std::string settings = GENERATE("", ", exact: true, virtual_workers: 9");
  for (const Placement& placement : uneven_placements(test_world().size())) {
    INFO(text(placement) << settings);
    const auto until = [&](int steps, const Checkpoint* from) {
      return train(test_world(), placement,
                   {.layers = kConvnet,
                    .settings = std::string(kAdam) + settings + ", steps: " + std::to_string(steps),
                    .from = from});
    };
    const Run whole = until(7, nullptr), before = until(4, nullptr), after = until(7, &before.end);
    if (test_world().rank() != 0) continue;
    const std::vector<std::int64_t>& shares = before.end.state.rank_shares;
    CHECK(std::ssize(shares) == placement.data);
    CHECK(std::accumulate(shares.begin(), shares.end(), std::int64_t{0}) == (settings.empty() ? 100 : 9));
    CHECK((placement.data == 1 || shares.front() < shares.back()));
    CHECK(after.end.state.files == whole.end.state.files);
  }
}

TEST_CASE("a rank that needs a millisecond a sample is measured as no faster than that, while others compute",
          "[training]") {
  const bool exact = GENERATE(false, true);
  const ConfigTree tree({.file = "test.yaml",
                         .text = "data: {dataset: digits}\nmodel: {layers: " + std::string(kConvnet) +
                                 ", loss: softmax_cross_entropy}\ntrain: {batch: 40, steps: 3, exact: " +
                                 (exact ? "true" : "false") + "}\n"},
                        run_settings());
  const int slow = test_world().size() - 1;
  std::vector<double> losses[2];
  for (const bool measures : {false, true}) {
    Mesh mesh(test_world(), {.data = test_world().size()});
    ThreadPool pool(2, true);
    Data data{.name = "noise"};
    if (test_world().rank() == slow)
      data.train = std::make_unique<SlowSamples>();
    else
      data.train = std::make_unique<NoiseDataset>(40, Shape{8, 8, 1}, 10, 1);
    Session session(tree.root(), std::move(data), mesh, pool);
    if (measures) {
      const std::vector<double> speeds = measured_speeds(tree.root(), session, true);
      REQUIRE(std::ssize(speeds) == test_world().size());
      // Its two threads read at the same time.
      CHECK(speeds.back() <= 2000);
      CHECK(speeds.front() > 0);
    }
    const std::vector<double> speeds(static_cast<std::size_t>(test_world().size()), 1.0);
    session.divide(tree.root(), shares_by_speed(session, speeds));
    TrainingRun training(tree.root(), session, {});
    Losses observer(losses[measures ? 1 : 0]);
    const TemporaryFolder folder;
    training.run({&observer}, folder.path());
  }
  // Measuring changes no bit of what follows.
  CHECK(losses[0] == losses[1]);
}

}  // namespace trainer
