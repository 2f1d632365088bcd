// mae, r2, log_loss and its variants, f1.
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/config/config_tree.h"
#include "engine/core/random.h"
#include "models/metrics/metric.h"

namespace trainer {
namespace {

/// A metric built from YAML, set up for outputs of a width.
struct BuiltMetric {
  BuiltMetric(const std::string& yaml, std::int64_t outputs, int classes)
      : tree(ConfigTree::member("metric", yaml)),
        metric(Registry<Metric>::make(tree.root())),
        width(outputs) {
    metric->setup({outputs}, classes);
  }
  /// Rows go in one by one, as if each were on a rank of its own.
  double of(const std::vector<float>& y, const Targets& targets) const {
    std::vector<double> sums(static_cast<std::size_t>(metric->sums()));
    const std::int64_t rows = std::ssize(y) / width;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::vector<double> own(sums.size());
      metric->add({y.data() + row * width, {1, width}}, targets.rows(row, 1), own);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += own[i];
    }
    return metric->value(sums, static_cast<double>(rows));
  }
  ConfigTree tree;
  std::unique_ptr<Metric> metric;
  std::int64_t width;
};

TEST_CASE("mae and r2 average over outputs", "[metrics]") {
  const std::vector<float> y{1, 10, 2, 10, 3, 40}, values{2, 10, 2, 20, 5, 30};
  const Targets targets{.values = {values.data(), {3, 2}}};
  CHECK(BuiltMetric("mae", 2, 0).of(y, targets) == Approx(23.0 / 6));
  // 1 - 5 / 6 and 1 - 200 / 200
  CHECK(BuiltMetric("r2", 2, 0).of(y, targets) == Approx((1.0 / 6 + 0) / 2));
  CHECK(BuiltMetric("r2", 2, 0).of(values, targets) == Approx(1));
  CHECK_FALSE(BuiltMetric("mae", 2, 0).metric->higher_is_better());
}

TEST_CASE("r2 leaves out outputs whose targets are all equal", "[metrics]") {
  constexpr std::int64_t kRows = 1001;
  std::vector<float> y, values, first_y, first_values;
  for (std::int64_t i = 0; i < kRows; ++i) {
    first_values.push_back(static_cast<float>(i % 7));
    first_y.push_back(static_cast<float>(i % 5));
    values.insert(values.end(), {first_values.back(), -7.7f});
    y.insert(y.end(), {first_y.back(), 3.0f});
  }
  CHECK(BuiltMetric("r2", 2, 0).of(y, {.values = {values.data(), {kRows, 2}}}) ==
        Approx(BuiltMetric("r2", 1, 0).of(first_y, {.values = {first_values.data(), {kRows, 1}}})));
  const std::vector<float> equal(4, 2.5f);
  CHECK(std::isnan(BuiltMetric("r2", 1, 0).of({1, 2, 3, 4}, {.values = {equal.data(), {4, 1}}})));
}

TEST_CASE("mae and r2 compare predictions: outputs through the link of the loss", "[metrics]") {
  const std::vector<float> y{std::log(3.0f), 0, -std::log(3.0f), std::log(4.0f)}, values{1, 0, 1, 1};
  const Targets targets{.values = {values.data(), {2, 2}}};
  const BuiltMetric mae("mae", 2, 0), r2("r2", 2, 0);
  mae.metric->use_link(Link::sigmoid);
  CHECK(mae.of(y, targets) == Approx((0.25 + 0.5 + 0.75 + 0.2) / 4));
  r2.metric->use_link(Link::sigmoid);
  const std::vector<float> both{std::log(3.0f), 0, std::log(4.0f), 0}, apart{1, 0, 0, 1};
  // 1 - (0.25^2 + 0.8^2) / 0.5 and 1 - (0.5^2 + 0.5^2) / 0.5
  CHECK(r2.of(both, {.values = {apart.data(), {2, 2}}}) == Approx((1 - 0.7025 / 0.5 + 0) / 2));
  const BuiltMetric of_classes("mae", 3, 3);
  of_classes.metric->use_link(Link::softmax);
  const std::vector<std::int32_t> label{0};
  // Predictions 0.5, 0.25 and 0.25.
  CHECK(of_classes.of({std::log(2.0f), 0, 0}, {.labels = label}) == Approx((0.5 + 0.25 + 0.25) / 3));
}

TEST_CASE("log_loss, perplexity and bits_per_character are one number in three units", "[metrics]") {
  const std::vector<float> y{0, 0, 0, 0, std::log(2.0f), 0, 0, 0};
  const std::vector<std::int32_t> labels{3, 0};
  const Targets targets{.labels = labels};
  const double mean = (std::log(4.0) + std::log(2.5)) / 2;
  CHECK(BuiltMetric("log_loss", 4, 4).of(y, targets) == Approx(mean));
  CHECK(BuiltMetric("perplexity", 4, 4).of(y, targets) == Approx(std::exp(mean)));
  CHECK(BuiltMetric("bits_per_character", 4, 4).of(y, targets) == Approx(mean / std::log(2.0)));
  CHECK(BuiltMetric("log_loss", 2, 2).of({1000, -1000}, targets.rows(1, 1)) == Approx(0).margin(1e-12));
  CHECK(std::isnan(BuiltMetric("log_loss", 2, 2).of({1, std::nanf("")}, targets.rows(1, 1))));
}

TEST_CASE("f1 is the mean of each class's, and class 1 alone where asked", "[metrics]") {
  // Predicted 0 0 1 1 2, right 0 1 1 1 0.
  const std::vector<float> y{9, 1, 1, 9, 1, 1, 1, 9, 1, 1, 9, 1, 1, 1, 9};
  const std::vector<std::int32_t> labels{0, 1, 1, 1, 0};
  const Targets targets{.labels = labels};
  CHECK(BuiltMetric("f1", 3, 3).of(y, targets) == Approx((2.0 * 1 / 4 + 2.0 * 2 / 5 + 0) / 3));
  CHECK(BuiltMetric("f1: 1", 3, 3).of(y, targets) == Approx(2.0 * 2 / 5));
  CHECK(BuiltMetric("f1: 1", 3, 3).metric->name() == "f1_1");
  // A class that is neither present nor predicted does not count.
  const std::vector<float> wide{9, 1, 1, 0, 1, 9, 1, 0, 1, 1, 9, 0};
  const std::vector<std::int32_t> first_two{0, 1, 0};
  CHECK(BuiltMetric("f1", 4, 4).of(wide, {.labels = first_two}) == Approx((2.0 / 3 + 1 + 0) / 3));
  CHECK_THROWS_WITH(BuiltMetric("f1: 3", 3, 3), Catch::Contains("3 classes"));
}

TEST_CASE("f1 and label_accuracy take target values as labels", "[metrics]") {
  // Label 0: predicted 1 1 0, present 1 0 0. Label 1: predicted 0 1 1, present 1 1 1.
  const std::vector<float> y{2, -1, 3, 1, -2, 0.5f}, values{1, 1, 0, 1, 0, 1};
  const Targets targets{.values = {values.data(), {3, 2}}};
  CHECK(BuiltMetric("label_accuracy", 2, 0).of(y, targets) == Approx(4.0 / 6));
  CHECK(BuiltMetric("label_accuracy: 0.9", 2, 0).of(y, targets) == Approx(3.0 / 6));
  CHECK(BuiltMetric("f1", 2, 0).of(y, targets) == Approx((2.0 / 3 + 4.0 / 5) / 2));
  CHECK(BuiltMetric("f1: 1", 2, 0).of(y, targets) == Approx(4.0 / 5));
  CHECK(BuiltMetric("label_accuracy", 2, 0).of({std::nanf(""), -1}, targets.rows(0, 1)) == 0);
}

TEST_CASE("auc is the fraction of pairs in the right order, halves for those that are equal", "[metrics]") {
  const std::vector<float> y{0, 3, 0, 1, 0, 1, 0, -2, 0, 0};
  const std::vector<std::int32_t> labels{1, 0, 1, 0, 1};
  // 3 before 1 and -2, 1 level with 1 and before -2, 0 before -2 only.
  CHECK(BuiltMetric("auc", 2, 2).of(y, {.labels = labels}) == Approx((2 + 1.5 + 1) / 6));
  CHECK(BuiltMetric("auc: 0", 2, 2).of(y, {.labels = labels}) == Approx((2 + 1.5 + 1) / 6));
  const std::vector<float> values{1, 0, 1, 0, 1}, scores{3, 1, 1, -2, 0};
  CHECK(BuiltMetric("auc: 0", 1, 0).of(scores, {.values = {values.data(), {5, 1}}}) == Approx(4.5 / 6));
  CHECK_THROWS_WITH(BuiltMetric("auc: 2", 2, 2), Catch::Contains("2 outputs"));
  CHECK(BuiltMetric("auc", 2, 2).metric->name() == "auc");
  CHECK(BuiltMetric("auc: 0", 2, 2).metric->name() == "auc_0");
}

TEST_CASE("while training auc of many scores is nearly that of their order, of whatever size they are",
          "[metrics]") {
  const float size = GENERATE(0.03f, 1.0f, 20.0f);
  constexpr std::size_t kSamples = 4000;
  const RandomStream random(1, "scores");
  std::vector<float> y(kSamples), values(kSamples);
  for (std::size_t i = 0; i < kSamples; ++i) {
    values[i] = i % 3 == 0 ? 1.0f : 0.0f;
    y[i] = size * (random.normal(i) + values[i]);
  }
  double pairs = 0, right = 0;
  for (std::size_t i = 0; i < kSamples; i += 3)
    for (std::size_t k = 0; k < kSamples; ++k)
      if (values[k] == 0) {
        pairs += 1;
        right += y[i] > y[k] ? 1 : 0;
      }
  const Targets targets{.values = {values.data(), {kSamples, 1}}};
  CHECK(BuiltMetric("auc: 0", 1, 0).of(y, targets) == Approx(right / pairs).margin(2e-4));
}

TEST_CASE(
    "confusion counts true and predicted classes; its value is the mean recall over the classes that occur",
    "[metrics]") {
  const std::vector<float> y{9, 1, 1, 9, 1, 1, 1, 9, 1, 1, 9, 1, std::nanf(""), 1, 9};
  const std::vector<std::int32_t> labels{0, 1, 1, 1, 0};
  const BuiltMetric built("confusion", 3, 3);
  CHECK(built.of(y, {.labels = labels}) == Approx((1.0 / 2 + 2.0 / 3) / 2));
  std::vector<double> sums(static_cast<std::size_t>(built.metric->sums()));
  built.metric->add({y.data(), {5, 3}}, {.labels = labels}, sums);
  CHECK(built.metric->table(sums) == std::vector<double>{1, 0, 0, 1, 2, 0, 0, 0, 0});
}

TEST_CASE("a row with a NaN is right for no class", "[metrics]") {
  const std::vector<std::int32_t> labels{0, 1};
  CHECK(BuiltMetric("f1: 0", 2, 2).of({std::nanf(""), 0, 0, 1}, {.labels = labels}) == 0);
}

}  // namespace
}  // namespace trainer
