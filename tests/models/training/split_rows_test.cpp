// The layers before the first sharded one split the rows of a batch over all ranks.
#include <algorithm>
#include <catch2/catch.hpp>

#include "engine/parallel/parameter_windows.h"
#include "tests/models/training/built_session.h"
#include "tests/models/training/placed_run.h"
#include "tests/support/noise_dataset.h"

namespace trainer {
namespace {

/// Exact mode gives all 10 units to one rank: the others have no parameter behind the exchange.
constexpr const char* kFewUnits =
    "[{conv: {filters: 4, kernel: 3, activation: relu}}, {dropout: 0.2}, {dense: 10}]";
constexpr const char* kDeep =
    "[{conv: {filters: 4, kernel: 3, pad: same}}, {recompute: [{conv: {filters: 4, kernel: 3, pad: same}}, "
    "batch_norm, relu]}, {residual: [{conv: {filters: 4, kernel: 3, pad: same}}, batch_norm]}, "
    "{max_pool: 2}, {dense: {units: 33, activation: tanh}}, batch_norm, {dense: 20}, relu, {dense: 10}]";
/// The first layers have no parameters.
constexpr const char* kPooled = "[{max_pool: 2}, {dense: {units: 24, activation: relu}}, {dense: 10}]";
/// The first sharded layers are inside residuals.
constexpr const char* kPatches =
    "[{conv: {filters: 8, kernel: 4, stride: 4}}, {reshape: [8, 4]}, {permute: [2, 1]}, positions, "
    "{residual: [layer_norm, {attention: 4}, {dropout: 0.1}]}, {residual: [layer_norm, {dense: {expand: 3, "
    "activation: gelu}}, {dense: 8}]}, flatten, {dense: 10}]";
constexpr const char* kFrozen =
    "[{conv: {filters: 4, kernel: 3, frozen: true}}, relu, {max_pool: 2}, {dense: {units: 24, activation: "
    "relu}}, {dense: 10}]";

std::vector<Placement> meshes(int ranks) {
  std::vector<Placement> all{{.data = 1, .model = ranks},
                             {.data = 1, .model = ranks, .threads = 2},
                             {.data = 1, .model = ranks, .ranks_per_node = 1},
                             {.data = 1, .model = ranks, .threads = 3, .share = false}};
  if (ranks == 4) {
    all.push_back({.data = 2, .model = 2});
    all.push_back({.data = 2, .model = 2, .ranks_per_node = 2, .threads = 2});
    all.push_back({.data = 2, .model = 2, .ranks_per_node = 1});
  }
  return all;
}

BuiltSession session(const Mesh::Options& mesh, const std::string& layers, const std::string& train = "") {
  return BuiltSession(
      test_world(),
      {.layers = layers,
       .loss = "softmax_cross_entropy",
       .train = "batch: 100, optimizer: {sgd: {lr: 0.1}}, epochs: 1" + train},
      Data{.name = "noise", .train = std::make_unique<NoiseDataset>(207, Shape{8, 8, 1}, 10, 1)}, mesh);
}

bool splits(const std::string& layers, const std::string& train = "") {
  return session({.model = test_world().size()}, layers, train).session().network().splits_rows();
}

}  // namespace

TEST_CASE("in exact mode layers that split rows give the bits of one rank on every mesh", "[training]") {
  const auto [layers, settings] =
      GENERATE(table<std::string, std::string>({{kConvnet, "virtual_workers: 8"},
                                                {kConvnet, "virtual_workers: 7, accumulate: 2, ema: 0.9"},
                                                {kFewUnits, "virtual_workers: 7, clip_norm: 0.5"},
                                                {kDeep, "virtual_workers: 7"},
                                                {kDeep, "virtual_workers: 4, clip_norm: 0.05"},
                                                {kPooled, "virtual_workers: 8"},
                                                {kFrozen, "virtual_workers: 8"},
                                                {kPatches, "virtual_workers: 7"},
                                                {kRagged, "virtual_workers: 7"},
                                                {kStreams, "virtual_workers: 7"},
                                                {kSpoken, "virtual_workers: 7"}}));
  const std::string optimizer = layers == kDeep        ? "optimizer: {lamb: {lr: 0.01}}"
                                : takes_tokens(layers) ? kAdam
                                                       : kSgd;
  const std::string all = optimizer + ", epochs: 2, exact: true, evaluate: {steps: 2}, " + settings;
  const auto alone = solo();
  const Run reference = train(*alone, {}, {layers, all});
  for (const Placement& placement : meshes(test_world().size())) {
    const Run run = train(test_world(), placement, {layers, all});
    INFO(text(placement) << ", " << layers << ", " << settings);
    CHECK(run.evaluation.loss == reference.evaluation.loss);
    CHECK(run.evaluation.metrics == reference.evaluation.metrics);
    check_same_bits(run, reference);
    if (test_world().rank() != 0) continue;
    REQUIRE(run.end.optimizer.size() == reference.end.optimizer.size());
    for (std::size_t tensor = 0; tensor < run.end.optimizer.size(); ++tensor)
      CHECK(run.end.optimizer[tensor].values == reference.end.optimizer[tensor].values);
  }
}

TEST_CASE("a run without exact mode whose batches leave ranks without rows gives the weights of one rank",
          "[training]") {
  const std::string layers = GENERATE(kDeep, kFewUnits, kFrozen, kPatches, kRagged);
  const std::string settings =
      std::string(takes_tokens(layers) ? kAdam : kSgd) + ", epochs: 3, accumulate: 25";
  const auto alone = solo();
  const Run reference = train(*alone, {}, {layers, settings});
  for (const Placement& placement : meshes(test_world().size())) {
    const Run run = train(test_world(), placement, {layers, settings});
    INFO(text(placement) << ", " << layers);
    CHECK(run.evaluation.loss == Approx(reference.evaluation.loss).epsilon(1e-3));
    for (std::size_t step = 0; step < run.losses.size(); ++step)
      CHECK(run.losses[step] == Approx(reference.losses[step]).epsilon(1e-3));
  }
}

TEST_CASE("each rank of a model group computes its share of the rows in the first layers", "[training]") {
  const int ranks = test_world().size();
  BuiltSession built = session({.model = ranks}, kConvnet);
  const Network& network = built.session().network();
  CHECK(network.splits_rows() == (ranks > 1));
  CHECK(network.input_rows(100) == part_of(100, test_world().rank(), ranks));
  // The exchange gathers all rows.
  CHECK(network.rows_of(0, 100).count() + network.rows_of(1, 100).count() == 100);
}

TEST_CASE("each rank of a model group has memory for its share of the rows in the first layers",
          "[training][2+ ranks]") {
  const int ranks = test_world().size();
  const char* const layers =
      "[{conv: {filters: 64, kernel: 3, pad: same}}, relu, {conv: {filters: 64, kernel: 3, pad: same}}, "
      "relu, {max_pool: 8}, {dense: 10}]";
  const auto bytes = [&](const Mesh::Options& mesh) {
    return static_cast<double>(session(mesh, layers).session().network().worker_bytes());
  };
  // Rows are rounded up.
  CHECK(bytes({.model = ranks}) < 1.05 * bytes({.data = ranks}));
}

TEST_CASE("the parameters of layers that split rows are updated by one rank each", "[training]") {
  const int ranks = test_world().size();
  BuiltSession built = session({.model = ranks}, kConvnet);
  Session& session = built.session();
  const std::int64_t border = session.network().split_parameter_end();
  ParameterWindows windows(session.mesh(), session.pool(), session.network().plan().parameter_borders(), {},
                           border);
  std::vector<std::int64_t> owners(static_cast<std::size_t>(border));
  for (const Range& range : windows.shard())
    for (std::int64_t place = range.first; place < std::min(range.last, border); ++place)
      ++owners[static_cast<std::size_t>(place)];
  test_world().sum(std::span(owners));
  CHECK(std::ranges::all_of(owners, [](std::int64_t count) { return count == 1; }));
}

TEST_CASE("layers compute all rows where a share of them would be wrong or cost more",
          "[training][2+ ranks]") {
  const int ranks = test_world().size();
  CHECK(splits(kConvnet));
  CHECK_FALSE(splits(kMlp));
  CHECK_FALSE(splits("[flatten, {dropout: 0.1}, {dense: 20}, {dense: 10}]"));
  CHECK_FALSE(splits("[{conv: {filters: 10, kernel: 8}}, flatten, {recompute: [{dense: 10}]}]"));
  CHECK(splits("[{conv: {filters: 10, kernel: 8}}, flatten, {residual: [{dense: 10}]}]"));
  CHECK_FALSE(splits(kConvnet, ", exact: true, crosscheck: 2"));
  CHECK_FALSE(splits(kConvnet, ", exact: true, virtual_workers: " + std::to_string(ranks - 1)));
  CHECK(splits(kConvnet, ", exact: true, virtual_workers: " + std::to_string(ranks)));
}

}  // namespace trainer
