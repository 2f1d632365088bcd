#include <catch2/catch.hpp>
#include <limits>

#include "engine/config/config_tree.h"
#include "models/metrics/metric.h"

namespace trainer {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A metric built from YAML.
struct BuiltMetric {
  explicit BuiltMetric(const std::string& yaml)
      : tree(ConfigTree::member("metric", yaml)), metric(Registry<Metric>::make(tree.root())) {}
  double of(const std::vector<float>& y, const std::vector<std::int32_t>& labels) const {
    const auto rows = static_cast<std::int64_t>(labels.size());
    std::vector<double> sums(static_cast<std::size_t>(metric->sums()));
    metric->add({y.data(), {rows, static_cast<std::int64_t>(y.size()) / rows}}, {.labels = labels}, sums);
    return metric->value(sums, static_cast<double>(rows));
  }
  ConfigTree tree;
  std::unique_ptr<Metric> metric;
};

const std::vector<float> kOutputs{1, 3, 2,  //
                                  3, 1, 2,  //
                                  1, 2, 3,  //
                                  3, 2, 1};
const std::vector<std::int32_t> kLabels{1, 2, 0, 0};

TEST_CASE("accuracy and misclassified are fractions of right and of wrong rows", "[metrics]") {
  CHECK(BuiltMetric("accuracy").of(kOutputs, kLabels) == 0.5);
  CHECK(BuiltMetric("misclassified").of(kOutputs, kLabels) == 0.5);
  CHECK(BuiltMetric("accuracy").metric->higher_is_better());
  CHECK_FALSE(BuiltMetric("misclassified").metric->higher_is_better());
}

TEST_CASE("top_k counts labels among the k largest outputs", "[metrics]") {
  CHECK(BuiltMetric("top_k: 1").of(kOutputs, kLabels) == 0.5);
  CHECK(BuiltMetric("top_k: 2").of(kOutputs, kLabels) == 0.75);
  CHECK(BuiltMetric("top_k: 3").of(kOutputs, kLabels) == 1);
  CHECK(BuiltMetric("top_k: 2").metric->name() == "top_2");
}

TEST_CASE("of equal outputs the first counts as the largest", "[metrics]") {
  CHECK(BuiltMetric("accuracy").of({2, 2, 2, 2}, {0, 1}) == 0.5);
}

TEST_CASE("a row with a NaN is wrong, wherever the NaN stands", "[metrics]") {
  CHECK(BuiltMetric("accuracy").of({3, kNan, kNan, 3, kNan, kNan}, {0, 1, 0}) == 0);
  CHECK(BuiltMetric("misclassified").of({3, kNan, kNan, 3}, {0, 1}) == 1);
  CHECK(BuiltMetric("top_k: 2").of({3, kNan}, {0}) == 0);
}

TEST_CASE("a metric of classes requires an output for each, and k within them", "[metrics]") {
  CHECK_THROWS_WITH(BuiltMetric("accuracy").metric->setup({9}, 10), Catch::Contains("accuracy requires 10"));
  CHECK_THROWS_WITH(BuiltMetric("top_k: 11").metric->setup({10}, 10), Catch::Contains("10 classes"));
  CHECK_THROWS_WITH(BuiltMetric("top_k: 0"), Catch::Contains("k"));
}

}  // namespace
}  // namespace trainer
