// Training on sequences: state that goes on from batch to batch, and padding.
#include <catch2/catch.hpp>

#include "datasets/input_targets.h"
#include "engine/config/config_tree.h"
#include "models/training/evaluation.h"
#include "models/training/trainer.h"
#include "tests/models/training/placed_run.h"
#include "tests/support/spoken_dataset.h"
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

TEST_CASE("ctc hears the own positions of a sequence alone, also behind layers that leave some of them out",
          "[training]") {
  const auto losses = [](std::int64_t positions) {
    const ConfigTree tree({.file = "test.yaml",
                           .text = std::string("data: {dataset: digits}\nmodel: {layers: ") + kSpoken +
                                   ", loss: ctc}\ntrain: {batch: 20, steps: 8, " + kSgd + "}\n"},
                          run_settings());
    const auto alone = solo();
    Mesh mesh(*alone, {});
    ThreadPool pool(2, true);
    Data data{.name = "spoken",
              .train = std::make_unique<SpokenDataset>(107, positions, 1),
              .test = std::make_unique<SpokenDataset>(53, positions, 2)};
    Session session(tree.root(), std::move(data), mesh, pool);
    Trainer trainer(tree.root(), session, {});
    std::vector<double> numbers;
    Losses observer(numbers);
    const TemporaryFolder folder;
    trainer.run({&observer}, folder.path());
    numbers.push_back(evaluate(session, *session.data().test).loss);
    return numbers;
  };
  const std::vector<double> tight = losses(8), loose = losses(24);
  REQUIRE(tight.size() == 9);
  for (std::size_t i = 0; i < tight.size(); ++i) CHECK(loose[i] == Approx(tight[i]).epsilon(1e-5));
}

TEST_CASE("a loss that would count padding is refused", "[training]") {
  const ConfigTree tree(
      {.file = "test.yaml",
       .text =
           "data: {dataset: digits}\nmodel: {layers: [{dense: 4}], loss: mse}\ntrain: {batch: 5, steps: 1, " +
           std::string(kSgd) + "}\n"},
      run_settings());
  const auto alone = solo();
  Mesh mesh(*alone, {});
  ThreadPool pool(1);
  const auto build = [&] {
    const Session session(
        tree.root(),
        {.name = "spoken",
         .train = std::make_unique<InputTargets>(std::make_unique<SpokenDataset>(20, 10, 1))},
        mesh, pool);
  };
  CHECK_THROWS_WITH(build(), Catch::Contains("mse would count padding"));
}

}  // namespace trainer
