// Training on sequences: state that resumes from batch to batch, and padding.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "datasets/loading/input_targets.h"
#include "tests/models/training/built_session.h"
#include "tests/models/training/placed_run.h"
#include "tests/support/sequence_datasets.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

constexpr const char* kGptWithoutDropout =
    "[{embedding: {units: 8, vocabulary: 10, positions: learned}}, {residual: [layer_norm, {attention: "
    "{heads: 4, causal: true}}]}, {recompute: [{residual: [layer_norm, {attention: 2}]}]}, {dense: 10}]";
constexpr const char* kWaves =
    "[{embedding: {units: 8, vocabulary: 10, positions: sinusoidal}}, {concat: [[{attention: 2}], [{dense: "
    "4}]]}, {dense: 10}]";

}  // namespace

TEST_CASE("a layer that keeps its state expects samples that follow one another, and no crosscheck",
          "[training]") {
  const auto alone = solo();
  const auto build = [&](const std::string& data, const std::string& train) {
    const BuiltSession built(*alone,
                             {.layers = kStreams,
                              .loss = "softmax_cross_entropy",
                              .train = "batch: 20, steps: 1, " + std::string(kAdam) + train,
                              .data = data},
                             {.name = "tokens", .train = samples_for(kStreams, 50, 1)});
  };
  CHECK_NOTHROW(build("{streams: true}", ""));
  CHECK_THROWS_WITH(build("{}", ""), Catch::Contains("samples are not consecutive"));
  CHECK_THROWS_WITH(build("{streams: true}", ", exact: true, crosscheck: 5"), Catch::Contains("is gone"));
  CHECK_THROWS_WITH(build("{streams: true}", ", accumulate: 2"), Catch::Contains("do not continue"));
}

TEST_CASE("an evaluation carries kept states through the split and leaves training's as they were",
          "[training]") {
  const auto run = [&](const std::string& train) {
    return BuiltSession::Text{kStreams, "softmax_cross_entropy", "batch: 10, metrics: [], " + train,
                              "{streams: true}"};
  };
  const auto data = [] {
    return Data{
        .name = "tokens", .train = samples_for(kStreams, 160, 1), .test = samples_for(kStreams, 160, 1)};
  };
  const Mesh::Options mesh{.data = test_world().size()};
  // An epoch of steps that change nothing reads the same streams as an evaluation.
  BuiltSession still(test_world(), run("optimizer: {sgd: {lr: 1.0e-30}}, steps: 16, evaluate: end"), data(),
                     mesh);
  const std::vector<double> losses = still.train(TemporaryFolder().path());
  if (test_world().rank() == 0) {
    REQUIRE(losses.size() == 17);
    CHECK(losses.back() == Approx(std::accumulate(losses.begin(), losses.end() - 1, 0.0) / 16).epsilon(1e-6));
  }
  const std::string settings = std::string(kAdam) + ", steps: 20, evaluate: ";
  BuiltSession often(test_world(), run(settings + "{steps: 3}"), data(), mesh);
  BuiltSession once(test_world(), run(settings + "end"), data(), mesh);
  CHECK(often.train(TemporaryFolder().path()) == once.train(TemporaryFolder().path()));
}

TEST_CASE("kept states are part of the training state, not of the weights", "[training]") {
  const Run run = train(test_world(), {.data = test_world().size()},
                        {.layers = kStreams, .settings = std::string(kAdam) + ", steps: 2"});
  if (test_world().rank() != 0) return;
  const auto kept = [](const std::vector<NamedTensor>& tensors) {
    return std::ranges::count_if(tensors,
                                 [](const NamedTensor& tensor) { return tensor.name.ends_with(".kept"); });
  };
  CHECK(kept(run.end.model) == 0);
  CHECK(kept(run.end.optimizer) == 2);
}

TEST_CASE("more padding behind sequences changes neither losses nor scores", "[training]") {
  const auto alone = solo();
  const std::string train = "batch: 20, metrics: [accuracy], steps: 10, " + std::string(kAdam);
  const std::string loss = GENERATE(
      "softmax_cross_entropy", "{softmax_cross_entropy: {class_weights: [1, 2, 0, 1, 3, 1, 0.5, 1, 1, 4]}}");
  const auto losses = [&](std::int64_t positions) {
    BuiltSession built(*alone, {kRagged, loss, train},
                       {.name = "tokens",
                        .train = std::make_unique<TokenDataset>(207, positions, 10, 1, 8),
                        .test = std::make_unique<TokenDataset>(103, positions, 10, 2, 8)});
    // A share of the labels, which are no samples.
    CHECK_FALSE(built.session().metric_facts()[0].counts_samples);
    return built.train(TemporaryFolder().path());
  };
  const std::vector<double> tight = losses(8), loose = losses(23);
  REQUIRE(tight.size() == 12);
  for (std::size_t i = 0; i < tight.size(); ++i) CHECK(loose[i] == Approx(tight[i]).epsilon(1e-5));
}

TEST_CASE("ctc ignores padding, also after layers that reduce the number of positions", "[training]") {
  const auto alone = solo();
  const auto losses = [&](std::int64_t positions) {
    BuiltSession built(*alone, {kSpoken, "ctc", "batch: 20, steps: 8, " + std::string(kSgd)},
                       {.name = "spoken",
                        .train = std::make_unique<SpokenDataset>(107, positions, 1),
                        .test = std::make_unique<SpokenDataset>(53, positions, 2)});
    return built.train(TemporaryFolder().path());
  };
  const std::vector<double> tight = losses(8), loose = losses(24);
  REQUIRE(tight.size() == 9);
  for (std::size_t i = 0; i < tight.size(); ++i) CHECK(loose[i] == Approx(tight[i]).epsilon(1e-5));
}

TEST_CASE("a loss that would count padding is refused", "[training]") {
  const auto alone = solo();
  const auto build = [&] {
    const BuiltSession built(
        *alone, {"[{dense: 4}]", "mse", "batch: 5, steps: 1, " + std::string(kSgd)},
        {.name = "spoken",
         .train = std::make_unique<InputTargets>(std::make_unique<SpokenDataset>(20, 10, 1))});
  };
  CHECK_THROWS_WITH(build(), Catch::Contains("mse would count padding"));
}

TEST_CASE("documents that share rows have the loss and the gradients of documents apart", "[training]") {
  const auto alone = solo();
  const std::string layers = GENERATE(kPacked, kGptWithoutDropout, kLlama, kWaves);
  const std::string train = "batch: 1000, metrics: [accuracy], steps: 10, optimizer: {sgd: {lr: 0.5}}";
  const auto losses = [&](std::unique_ptr<Dataset> samples, std::unique_ptr<Dataset> others) {
    BuiltSession built(*alone, {layers, "softmax_cross_entropy", train},
                       {.name = "tokens", .train = std::move(samples), .test = std::move(others)});
    return built.train(TemporaryFolder().path());
  };
  const auto apart = [](std::int64_t size, std::uint64_t seed) {
    return std::make_unique<TokenDataset>(PackedTokens::documents(size, 10, seed));
  };
  const std::vector<double> packed = losses(std::make_unique<PackedTokens>(40, 10, 1),
                                            std::make_unique<PackedTokens>(20, 10, 2)),
                            whole = losses(apart(40, 1), apart(20, 2));
  REQUIRE(packed.size() == 12);
  CHECK(packed[9] < 0.9 * packed[0]);
  INFO(layers);
  for (std::size_t i = 0; i < packed.size(); ++i) CHECK(packed[i] == Approx(whole[i]).epsilon(1e-5));
}

TEST_CASE("layers that would mix the documents of a row are refused by name", "[training]") {
  const auto alone = solo();
  const std::string mixing = GENERATE("{lstm: 4}", "{conv1d: {filters: 4, kernel: 3, pad: 1}}",
                                      "{residual: [{gru: 6}]}", "{recompute: [{rnn: 6}]}");
  const auto build = [&] {
    const BuiltSession built(*alone,
                             {"[{embedding: {units: 6, vocabulary: 10}}, " + mixing + ", {dense: 10}]",
                              "softmax_cross_entropy", "batch: 5, steps: 1, " + std::string(kSgd)},
                             {.name = "tokens", .train = std::make_unique<PackedTokens>(20, 10, 1)});
  };
  CHECK_THROWS_WITH(build(), Catch::Contains("mixes the documents that share a row"));
}

}  // namespace trainer
