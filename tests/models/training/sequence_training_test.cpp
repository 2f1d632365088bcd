// Training on sequences: state that goes on from batch to batch, and padding.
#include <catch2/catch.hpp>

#include "engine/config/config_tree.h"
#include "models/training/evaluation.h"
#include "models/training/trainer.h"
#include "tests/models/training/placed_run.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/token_dataset.h"

namespace trainer {

TEST_CASE("a layer that keeps its state wants samples that follow one another, and no crosscheck",
          "[training]") {
  const auto session = [](const std::string& data, const std::string& train) {
    const ConfigTree tree(
        {.file = "test.yaml",
         .text = "data: {dataset: digits" + data + "}\nmodel: {layers: " + kStreams +
                 ", loss: softmax_cross_entropy}\ntrain: {batch: 20, steps: 1, " + kAdam + train + "}\n"},
        run_settings());
    const auto alone = solo();
    Mesh mesh(*alone, {});
    ThreadPool pool(1);
    const Session built(tree.root(), {.name = "tokens", .train = samples_for(kStreams, 50, 1)}, mesh, pool);
  };
  CHECK_NOTHROW(session(", streams: true", ""));
  CHECK_THROWS_WITH(session("", ""), Catch::Contains("samples do not follow one another"));
  CHECK_THROWS_WITH(session(", streams: true", ", exact: true, crosscheck: 5"), Catch::Contains("is gone"));
  CHECK_THROWS_WITH(session(", streams: true", ", accumulate: 2"), Catch::Contains("do not go on"));
}

TEST_CASE("more padding behind sequences changes neither losses nor scores", "[training]") {
  const auto losses = [](std::int64_t positions) {
    const ConfigTree tree(
        {.file = "test.yaml",
         .text = std::string("data: {dataset: digits}\nmodel: {layers: ") + kRagged +
                 ", loss: softmax_cross_entropy}\ntrain: {batch: 20, metrics: [accuracy], steps: 10, " +
                 kAdam + "}\n"},
        run_settings());
    const auto alone = solo();
    Mesh mesh(*alone, {});
    ThreadPool pool(2, true);
    Data data{.name = "tokens",
              .train = std::make_unique<TokenDataset>(207, positions, 10, 1, 8),
              .test = std::make_unique<TokenDataset>(103, positions, 10, 2, 8)};
    Session session(tree.root(), std::move(data), mesh, pool);
    Trainer trainer(tree.root(), session, {});
    std::vector<double> numbers;
    Losses observer(numbers);
    const TemporaryFolder folder;
    trainer.run({&observer}, folder.path());
    // A share of the labels, which are no samples.
    CHECK_FALSE(session.metric_facts()[0].counts_samples);
    const Scores scores = evaluate(session, *session.data().test);
    numbers.push_back(scores.loss);
    numbers.push_back(scores.metrics[0]);
    return numbers;
  };
  const std::vector<double> tight = losses(8), loose = losses(23);
  REQUIRE(tight.size() == 12);
  for (std::size_t i = 0; i < tight.size(); ++i) CHECK(loose[i] == Approx(tight[i]).epsilon(1e-5));
}

}  // namespace trainer
