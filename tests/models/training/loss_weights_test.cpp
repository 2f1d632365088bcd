#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "datasets/subset.h"
#include "tests/models/training/built_session.h"
#include "tests/models/training/placed_run.h"
#include "tests/support/noise_dataset.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

/// Weights of 0, 1, 2, 0, 1, 2 ...
class WeightedSamples final : public Dataset {
 public:
  WeightedSamples() : Dataset(with_weights(NoiseDataset(200, {4, 4, 1}, 10, 1).info())) {}
  void read(std::span<const std::int64_t> indices, Tensor x) const override { all_.read(indices, x); }
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    all_.read_labels(indices, labels);
  }
  float weight(std::int64_t index) const override { return static_cast<float>(index % 3); }

 private:
  static DatasetInfo with_weights(DatasetInfo info) {
    info.has_weights = true;
    return info;
  }

  NoiseDataset all_{200, {4, 4, 1}, 10, 1};
};

}  // namespace

TEST_CASE("a sample of weight 2 counts twice and one of weight 0 not at all, on any number of ranks",
          "[training]") {
  const NoiseDataset all(200, {4, 4, 1}, 10, 1);
  std::vector<std::int64_t> counted;
  for (std::int64_t i = 0; i < all.size(); ++i) counted.insert(counted.end(), i % 3, i);
  // Whole sets as batches, so that steps see the same samples.
  const std::string exact = GENERATE("", ", exact: true, virtual_workers: 5");
  const std::string loss = GENERATE(
      "softmax_cross_entropy", "{softmax_cross_entropy: {class_weights: [1, 2, 3, 1, 1, 1, 2, 1, 0.5, 1]}}");
  const auto train = [&](std::int64_t batch) {
    return BuiltSession::Text{"[{dense: {units: 20, activation: tanh}}, {dense: 10}]", loss,
                              "optimizer: {sgd: {lr: 0.5}}, steps: 5, evaluate: never, metrics: [], batch: " +
                                  std::to_string(batch) + exact};
  };
  const auto alone = solo();
  BuiltSession repeated(*alone, train(std::ssize(counted)),
                        {.name = "noise",
                         .train = std::make_unique<Subset>(all, counted),
                         .test = std::make_unique<Subset>(all, counted)});
  const std::vector<double> expected = repeated.train(TemporaryFolder().path());
  BuiltSession weighted(test_world(), train(all.size()),
                        {.name = "noise",
                         .train = std::make_unique<WeightedSamples>(),
                         .test = std::make_unique<WeightedSamples>()},
                        {.data = test_world().size()});
  const std::vector<double> losses = weighted.train(TemporaryFolder().path());
  CHECK(expected[4] < 0.95 * expected[0]);
  REQUIRE(losses.size() <= expected.size());
  for (std::size_t i = 0; i < losses.size(); ++i)
    CHECK(losses[i] == Approx(expected[i + expected.size() - losses.size()]).epsilon(1e-5));
}

TEST_CASE("classes that do not count are as good as not there, on any number of ranks", "[training]") {
  const NoiseDataset all(200, {4, 4, 1}, 10, 1);
  std::vector<std::int64_t> counted;
  for (std::int64_t i = 0; i < all.size(); ++i)
    if (all.label(i) < 3) counted.push_back(i);
  const auto count = std::ssize(counted);
  REQUIRE(count > 30);
  // Whole sets as batches, so that steps see the same samples. Weights of 2, since their size is no matter.
  const std::string exact = GENERATE("", ", exact: true, virtual_workers: 5");
  const auto train = [&](const std::string& loss, std::int64_t batch) {
    return BuiltSession::Text{
        "[{dense: {units: 20, activation: tanh}}, {dense: 10}]", loss,
        "optimizer: {sgd: {lr: 0.5}}, steps: 5, evaluate: never, metrics: [accuracy], batch: " +
            std::to_string(batch) + exact};
  };
  const auto alone = solo();
  BuiltSession few(*alone, train("softmax_cross_entropy", count),
                   {.name = "noise",
                    .train = std::make_unique<Subset>(all, counted),
                    .test = std::make_unique<Subset>(all, counted)});
  const std::vector<double> expected = few.train(TemporaryFolder().path());
  BuiltSession weighted(
      test_world(),
      train("{softmax_cross_entropy: {class_weights: [2, 2, 2, 0, 0, 0, 0, 0, 0, 0]}}", all.size()),
      {.name = "noise",
       .train = std::make_unique<NoiseDataset>(200, Shape{4, 4, 1}, 10, 1),
       .test = std::make_unique<NoiseDataset>(200, Shape{4, 4, 1}, 10, 1)},
      {.data = test_world().size()});
  const std::vector<double> losses = weighted.train(TemporaryFolder().path());
  REQUIRE(expected.size() == 7);
  CHECK(expected[4] < 0.9 * expected[0]);
  for (std::size_t i = test_world().rank() == 0 ? 0 : losses.size() - 2; i < losses.size() - 1; ++i)
    CHECK(losses[i] == Approx(expected[i + expected.size() - losses.size()]).epsilon(1e-5));
}

TEST_CASE("balanced class weights are those of the labels' counts, also for virtual workers of local SGD",
          "[training]") {
  const std::string placement = GENERATE("", ", exact: true", ", local: {steps: 2, virtual_workers: 4}");
  const auto train = [&](const std::string& weights, Data data) {
    const std::string loss = "{softmax_cross_entropy: {class_weights: " + weights + "}}";
    BuiltSession built(test_world(),
                       {"[{dense: {units: 20, activation: tanh}}, {dense: 4}]", loss,
                        "optimizer: {sgd: {lr: 0.5}}, steps: 4, evaluate: never, batch: 40" + placement},
                       std::move(data), {.data = test_world().size()});
    const auto host = test_world().split_by_host();
    built.session().load_samples(*host);
    return built.train(TemporaryFolder().path());
  };
  const auto few_of_two = [] {
    const static NoiseDataset all(200, {4, 4, 1}, 4, 1);
    std::vector<std::int64_t> chosen;
    for (std::int64_t i = 0; i < all.size(); ++i)
      if (all.label(i) < 2 || i % 5 == 0) chosen.push_back(i);
    return Data{.name = "noise",
                .train = std::make_unique<Subset>(all, chosen),
                .test = std::make_unique<NoiseDataset>(200, Shape{4, 4, 1}, 4, 2)};
  };
  const std::vector<std::int64_t> counts = count_classes(*few_of_two().train);
  const auto total = static_cast<double>(few_of_two().train->size());
  std::string list;
  for (const std::int64_t count : counts)
    list += (list.empty() ? "" : ", ") + fmt::format("{:.17g}", total / (4 * static_cast<double>(count)));
  CHECK(train("balanced", few_of_two()) == train("[" + list + "]", few_of_two()));
  CHECK(train("balanced", few_of_two()) != train("[1, 1, 1, 1]", few_of_two()));
}

TEST_CASE("a batch without a class that counts changes nothing", "[training]") {
  const auto alone = solo();
  BuiltSession built(
      *alone,
      {"[{dense: 10}]", "{softmax_cross_entropy: {class_weights: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}}",
       "optimizer: {sgd: {lr: 0.5}}, steps: 2, evaluate: never, batch: 7, metrics: []"},
      {.name = "noise",
       .train = std::make_unique<NoiseDataset>(20, Shape{4, 4, 1}, 10, 1),
       .test = std::make_unique<NoiseDataset>(20, Shape{4, 4, 1}, 10, 1)});
  CHECK(built.train(TemporaryFolder().path()) == std::vector<double>{0, 0, 0});
}

}  // namespace trainer
