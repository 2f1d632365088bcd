// Muon requires whole matrices, wherever shards of parameters end.
#include <catch2/catch.hpp>
#include <numeric>

#include "tests/models/training/placed_run.h"

namespace trainer {
namespace {

/// Matrices of unequal sizes; in modelpar the output layer is sharded.
constexpr const char* kConvnets =
    "[{conv: {filters: 6, kernel: 3, bias: false}}, batch_norm, relu, {conv: {filters: 40, kernel: 3}}, "
    "relu, "
    "{conv: {filters: 5, kernel: 1, lr: x0.5}}, relu, {dense: 10}]";
constexpr const char* kDense =
    "[{dense: {units: 75, activation: tanh}}, {dense: {units: 40, frozen: true}}, relu, {dense: {units: 30, "
    "activation: relu}}, {dense: 10}]";
constexpr const char* kMuon =
    "optimizer: {muon: {lr: 0.05, weight_decay: 0.01, others: {sgd: {lr: 0.1, momentum: 0.9}}}}";
constexpr const char* kNormalized =
    "optimizer: {muon: {lr: 0.05, normalize: true}}, ema: 0.9, accumulate: 4, clip_norm: 0.5";

std::vector<Placement> supported(const std::string& layers) {
  std::vector<Placement> all = placements(test_world().size());
  all.push_back({.data = test_world().size(), .threads = 5});
  if (layers == kDense) std::erase_if(all, [](const Placement& placement) { return placement.model > 1; });
  return all;
}

}  // namespace

TEST_CASE("in exact mode muon gives the same bits on every placement", "[training]") {
  const std::string layers = GENERATE(kConvnets, kDense);
  const std::string settings =
      GENERATE(as<std::string>(), kMuon, kNormalized) + ", epochs: 2, exact: true, virtual_workers: 7";
  const auto alone = solo();
  const Run reference = train(*alone, {}, {layers, settings});
  for (const Placement& placement : supported(layers)) {
    INFO(text(placement) << ", " << layers << ", " << settings);
    check_same_bits(train(test_world(), placement, {layers, settings}), reference);
  }
}

TEST_CASE("a run with muon that resumes ends with the bits of one that never stopped", "[training]") {
  const std::string settings = GENERATE(as<std::string>(), kMuon, kNormalized);
  for (const Placement& placement : supported(kConvnets)) {
    INFO(text(placement) << ", " << settings);
    const Run whole = train(test_world(), placement, {kConvnets, settings + ", steps: 7"});
    const Run before = train(test_world(), placement, {kConvnets, settings + ", steps: 4"});
    const Run after = train(test_world(), placement,
                            {.layers = kConvnets, .settings = settings + ", steps: 7", .from = &before.end});
    if (test_world().rank() != 0) continue;
    CHECK(after.losses == std::vector<double>(whole.losses.begin() + 4, whole.losses.end()));
    for (std::size_t i = 0; i < whole.weights().size(); ++i)
      CHECK(after.weights()[i].values == whole.weights()[i].values);
  }
}

TEST_CASE("muon with compressed messages learns, on nodes of one rank", "[training]") {
  const std::string settings = std::string(kMuon) + ", epochs: 6, compression: " +
                               GENERATE("bf16", "{powersgd: {rank: 2, min_size: 0}}");
  INFO(settings);
  const Placement placement{.data = test_world().size(), .ranks_per_node = 1, .share = false};
  const Run run = train(test_world(), placement, {kConvnets, settings});
  if (test_world().rank() != 0) return;
  const auto total_loss = [&](std::size_t epoch) {
    const std::size_t steps = run.losses.size() / 6;
    const auto first = run.losses.begin() + static_cast<std::ptrdiff_t>(epoch * steps);
    return std::accumulate(first, first + static_cast<std::ptrdiff_t>(steps), 0.0);
  };
  CHECK(total_loss(5) < total_loss(0));
}

TEST_CASE("muon refuses to update matrices that modelpar partitions", "[training][2+ ranks]") {
  CHECK_THROWS_WITH(train(test_world(), {.data = 1, .model = test_world().size()},
                          {kDense, std::string(kMuon) + ", steps: 1"}),
                    Catch::Contains("muon updates whole matrices, and --modelpar partitions dense1.weight"));
}

}  // namespace trainer
