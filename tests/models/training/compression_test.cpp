// Runs whose hosts exchange compressed values.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/models/training/placed_run.h"

namespace trainer {
namespace {

const std::string kBf16 = std::string(kSgd) + ", compression: bf16";

double mean_of_last(const std::vector<double>& losses, std::size_t count) {
  double sum = 0;
  for (std::size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
  return sum / static_cast<double>(count);
}

}  // namespace

TEST_CASE("with bf16, exact mode gives the same bits wherever a run is computed", "[training]") {
  const std::string layers = GENERATE(kMlp, kConvnet, kRagged);
  const std::string settings =
      std::string(takes_tokens(layers) ? kAdam : kSgd) +
      ", compression: bf16, epochs: 1, exact: true, crosscheck: 2, virtual_workers: " +
      (layers == kMlp ? "8" : "7");
  const auto alone = solo();
  const Run reference = train(*alone, {}, {layers, settings});
  for (const Placement& placement : placements(test_world().size())) {
    INFO(text(placement) << ", " << layers);
    check_same_bits(train(test_world(), placement, {layers, settings}), reference);
  }
}

TEST_CASE("with bf16 a run learns as in float32, and its replicas stay the same on all ranks", "[training]") {
  const std::string layers = GENERATE(kMlp, kConvnet);
  const auto alone = solo();
  const Run reference = train(*alone, {}, {layers, std::string(kSgd) + ", epochs: 8"});
  for (const Placement& placement : placements(test_world().size())) {
    INFO(text(placement) << ", " << layers);
    const Run run = train(test_world(), placement, {layers, kBf16 + ", epochs: 8"});
    CHECK(run.evaluation.loss == Approx(reference.evaluation.loss).epsilon(0.02));
    if (test_world().rank() != 0) continue;
    REQUIRE(run.losses.size() == reference.losses.size());
    CHECK(run.losses != reference.losses);
    CHECK(mean_of_last(run.losses, 6) == Approx(mean_of_last(reference.losses, 6)).epsilon(0.02));
  }
}

TEST_CASE("with bf16 a run that resumes ends with the bits of one that never stopped", "[training]") {
  const std::string settings = std::string(kAdam) + ", compression: bf16, ema: 0.9, accumulate: 2";
  for (const Placement& placement : placements(test_world().size())) {
    INFO(text(placement));
    const Run whole = train(test_world(), placement, {kConvnet, settings + ", steps: 9"});
    const Run before = train(test_world(), placement, {kConvnet, settings + ", steps: 5"});
    const Run after = train(test_world(), placement,
                            {.layers = kConvnet, .settings = settings + ", steps: 9", .from = &before.end});
    if (test_world().rank() != 0) continue;
    CHECK(after.losses == std::vector<double>(whole.losses.begin() + 5, whole.losses.end()));
    for (std::size_t i = 0; i < whole.weights().size(); ++i)
      CHECK(after.weights()[i].values == whole.weights()[i].values);
    for (std::size_t i = 0; i < whole.end.optimizer.size(); ++i)
      CHECK(after.end.optimizer[i].values == whole.end.optimizer[i].values);
  }
}

TEST_CASE("with bf16 frozen layers keep their values, and norms and clipping work", "[training]") {
  const std::string layers =
      "[{dense: {units: 30, activation: relu, frozen: true}}, {dense: {units: 12, activation: relu}}, "
      "{dense: 10}]";
  const auto alone = solo();
  const Run initial = train(*alone, {}, {layers, "optimizer: {lamb: {lr: 0.01}}, steps: 0"});
  for (const Placement& placement : placements(test_world().size())) {
    INFO(text(placement));
    const Run run =
        train(test_world(), placement,
              {layers, "optimizer: {lamb: {lr: 0.01}}, clip_norm: 1, compression: bf16, steps: 6"});
    if (test_world().rank() != 0) continue;
    CHECK(run.weights()[0].values == initial.weights()[0].values);
    CHECK(run.weights()[2].values != initial.weights()[2].values);
  }
}

namespace {

/// Every placement but those that partition layers.
std::vector<Placement> without_model_ranks(int ranks) {
  std::vector<Placement> all = placements(ranks);
  std::erase_if(all, [](const Placement& placement) { return placement.model > 1; });
  return all;
}

const std::string kFeedback = std::string(kAdam) + ", ema: 0.9, clip_norm: 1, compression: ";

}  // namespace

TEST_CASE("with error feedback a run that resumes ends with the bits of one that never stopped",
          "[training]") {
  const std::string settings =
      kFeedback + GENERATE("{one_bit: {min_size: 0}}", "{powersgd: {rank: 2, min_size: 0}}");
  for (const Placement& placement : without_model_ranks(test_world().size())) {
    INFO(text(placement) << ", " << settings);
    const Run whole = train(test_world(), placement, {kConvnet, settings + ", steps: 9"});
    const Run before = train(test_world(), placement, {kConvnet, settings + ", steps: 5"});
    const Run after = train(test_world(), placement,
                            {.layers = kConvnet, .settings = settings + ", steps: 9", .from = &before.end});
    if (test_world().rank() != 0) continue;
    CHECK(after.losses == std::vector<double>(whole.losses.begin() + 5, whole.losses.end()));
    REQUIRE(after.end.optimizer.size() == whole.end.optimizer.size());
    for (std::size_t i = 0; i < whole.weights().size(); ++i)
      CHECK(after.weights()[i].values == whole.weights()[i].values);
    for (std::size_t i = 0; i < whole.end.optimizer.size(); ++i)
      CHECK(after.end.optimizer[i].values == whole.end.optimizer[i].values);
  }
}

TEST_CASE("error feedback begins after the warm-up of the learning rate, also where a run resumes",
          "[training]") {
  const std::string settings = std::string(kSgd) + ", warmup: {steps: 5}";
  const std::string compressed = settings + ", compression: " +
                                 GENERATE("{one_bit: {min_size: 0}}", "{powersgd: {rank: 1, min_size: 0}}");
  const Placement placement{.data = test_world().size()};
  const Run plain = train(test_world(), placement, {kMlp, settings + ", steps: 8"});
  const Run whole = train(test_world(), placement, {kMlp, compressed + ", steps: 8"});
  const Run before = train(test_world(), placement, {kMlp, compressed + ", steps: 3"});
  const Run after = train(test_world(), placement,
                          {.layers = kMlp, .settings = compressed + ", steps: 8", .from = &before.end});
  if (test_world().rank() != 0) return;
  for (std::size_t i = 0; i <= 5; ++i) CHECK(whole.losses[i] == Approx(plain.losses[i]).epsilon(1e-5));
  CHECK(whole.losses[6] != Approx(plain.losses[6]).epsilon(1e-5));
  CHECK(after.losses == std::vector<double>(whole.losses.begin() + 3, whole.losses.end()));
}

TEST_CASE("PowerSGD is the same computation on any number of ranks, also where a run resumes", "[training]") {
  const std::string settings = std::string(kSgd) + ", compression: {powersgd: {rank: 2, min_size: 0}}";
  const auto alone = solo();
  const Run reference = train(*alone, {}, {kMlp, settings + ", steps: 12"});
  const Run beginning = train(*alone, {}, {kMlp, settings + ", steps: 6"});
  for (const Placement& placement : without_model_ranks(test_world().size())) {
    INFO(text(placement));
    const Run whole = train(test_world(), placement, {kMlp, settings + ", steps: 12"});
    const Run before = train(test_world(), placement, {kMlp, settings + ", steps: 6"});
    const Run moved = train(test_world(), placement,
                            {.layers = kMlp, .settings = settings + ", steps: 12", .from = &beginning.end});
    if (test_world().rank() != 0) continue;
    const Run back =
        train(*alone, {}, {.layers = kMlp, .settings = settings + ", steps: 12", .from = &before.end});
    for (std::size_t i = 0; i < reference.losses.size(); ++i)
      CHECK(whole.losses[i] == Approx(reference.losses[i]).epsilon(2e-4));
    for (std::size_t i = 6; i < reference.losses.size(); ++i) {
      CHECK(moved.losses[i - 6] == Approx(reference.losses[i]).epsilon(2e-4));
      CHECK(back.losses[i - 6] == Approx(reference.losses[i]).epsilon(2e-4));
    }
  }
}

TEST_CASE("error feedback is refused where its bits or its matrices would depend on the placement",
          "[training]") {
  CHECK_THROWS_WITH(train(test_world(), {.data = test_world().size()},
                          {kMlp, std::string(kSgd) + ", steps: 1, exact: true, compression: one_bit"}),
                    Catch::Contains("its bits depend on the number of ranks"));
  if (test_world().size() > 1)
    CHECK_THROWS_WITH(train(test_world(), {.data = 1, .model = test_world().size()},
                            {kMlp, std::string(kSgd) + ", steps: 1, compression: powersgd"}),
                      Catch::Contains("--modelpar partitions them"));
}

}  // namespace trainer
