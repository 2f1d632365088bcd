#include "models/proof/chain_hook.h"

#include <catch2/catch.hpp>

#include "tests/models/training/placed_run.h"

namespace trainer {
namespace {

/// Numbers of units that only one rank divides, in pairs of layers.
constexpr const char* kUneven =
    "[{dense: {units: 90, activation: gelu}}, {dense: {units: 75, activation: tanh}}, {dropout: 0.2}, "
    "{dense: {units: 40}}, relu, {dense: 10}]";

}  // namespace

TEST_CASE("the chain has the same lines wherever a run is computed", "[training]") {
  const std::string layers = GENERATE(kMlp, kPairs, kUneven, kConvnet, kGpt, kAdapted, kSpoken);
  const std::string settings = std::string(takes_tokens(layers) ? kAdam : kSgd) +
                               ", epochs: 2, exact: true, chain: true, virtual_workers: 7, ema: 0.9";
  const auto alone = solo();
  const Run reference = train(*alone, {}, {layers, settings, "", layers == kConvnet ? 0.4 : 0});
  if (test_world().rank() == 0) CHECK(reference.chain.size() == 7);
  for (const Placement& placement : placements(test_world().size())) {
    const Run run = train(test_world(), placement, {layers, settings, "", layers == kConvnet ? 0.4 : 0});
    INFO(text(placement) << ", " << layers);
    if (test_world().rank() == 0) CHECK(run.chain == reference.chain);
  }
}

TEST_CASE("the chain of every optimizer has the same lines wherever a run is computed", "[training]") {
  const std::string settings = std::string(GENERATE(
      "optimizer: {lars: {lr: 2, weight_decay: 0.01}}, clip_norm: 0.05", "optimizer: {lamb: {lr: 0.01}}",
      "optimizer: muon", "optimizer: {sgd: {lr: 0.1}}, accumulate: 4",
      "optimizer: {sgd: {lr: 0.1}}, compression: bf16"));
  const std::string whole = settings + ", epochs: 2, exact: true, chain: true, virtual_workers: 7";
  constexpr const char* kLayers =
      "[{conv: {filters: 4, kernel: 3, frozen: true}}, batch_norm, relu, {dense: {units: 75, activation: "
      "tanh}}, {dense: {units: 40, lr: x0.5}}, relu, {dense: 10}]";
  const auto alone = solo();
  const Run reference = train(*alone, {}, {kLayers, whole});
  for (const Placement& placement : placements(test_world().size())) {
    if (placement.model > 1 && settings == "optimizer: muon") continue;  // it takes whole matrices
    const Run run = train(test_world(), placement, {kLayers, whole});
    INFO(text(placement) << ", " << settings);
    if (test_world().rank() == 0) CHECK(run.chain == reference.chain);
  }
}

TEST_CASE("the chain of a run that resumes continues as if it had not stopped", "[training]") {
  const std::string settings = std::string(kSgd) + ", exact: true, chain: true, virtual_workers: 7, steps: ";
  const Placement placement{.data = test_world().size()};
  // Lines are written 200 at a time.
  const Run whole = train(test_world(), placement, {kMlp, settings + "420"});
  const Run half = train(test_world(), placement, {kMlp, settings + "210"});
  const Run rest = train(test_world(), placement, {kMlp, settings + "420", "", 0, &half.end});
  if (test_world().rank() != 0) return;
  CHECK(whole.chain.size() == 421);
  std::vector<std::string> joined = half.chain;
  joined.insert(joined.end(), rest.chain.begin(), rest.chain.end());
  CHECK(joined == whole.chain);
}

}  // namespace trainer
