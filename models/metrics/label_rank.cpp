// accuracy, top_k and misclassified: the rank of the right class among the outputs.
#include <fmt/format.h>

#include "models/losses/outputs.h"
#include "models/metrics/metric.h"

namespace trainer {
namespace {

/// True if the label is among the k largest outputs; of equal outputs the first counts as larger. A row with
/// a NaN is wrong.
bool label_is_among(std::int64_t k, std::span<const float> outputs, std::int32_t label) {
  const float of_label = outputs[static_cast<std::size_t>(label)];
  std::int32_t larger = 0, nans = 0, index = 0;
  for (const float output : outputs) {  // without branches, so that compilers take vectors
    larger += static_cast<int>(output > of_label) |
              (static_cast<int>(output == of_label) & static_cast<int>(index < label));
    nans += static_cast<int>(output != output);
    ++index;
  }
  return nans == 0 && larger < k;
}

/// The fraction of rows whose label is among the k largest outputs, or of those where it is not.
class LabelRank final : public Metric {
 public:
  struct Settings {
    std::int64_t k = 1;
    bool count_wrong = false;
    std::string name, short_name;
  };
  LabelRank(const Config& config, Settings settings) : config_(config), settings_(std::move(settings)) {}

  void setup(const Shape& output, int classes) override {
    require_output_per_class(config_, output, classes);
    if (settings_.k > classes)
      config_.fail("k", fmt::format("k is {}, the data has {} classes", settings_.k, classes));
  }
  std::string name() const override { return settings_.name; }
  std::string short_name() const override { return settings_.short_name; }
  bool higher_is_better() const override { return !settings_.count_wrong; }

  void add(ConstTensor y, const Targets& targets, std::span<double> sums) const override {
    const auto outputs = static_cast<std::size_t>(y.row_size());
    for (std::size_t row = 0; row < targets.labels.size(); ++row) {
      const bool right =
          label_is_among(settings_.k, y.span().subspan(row * outputs, outputs), targets.labels[row]);
      if (right != settings_.count_wrong) sums[0] += 1;
    }
  }

 private:
  Config config_;
  Settings settings_;
};

const Registry<Metric>::Add accuracy_metric{
    {.name = "accuracy", .help = "fraction of samples whose largest output is their class"},
    [](const Config& config) {
      return std::make_unique<LabelRank>(config,
                                         LabelRank::Settings{.name = "accuracy", .short_name = "acc"});
    }};

const Registry<Metric>::Add misclassified_metric{
    {.name = "misclassified", .help = "fraction of samples whose largest output is another class"},
    [](const Config& config) {
      return std::make_unique<LabelRank>(
          config, LabelRank::Settings{.count_wrong = true, .name = "misclassified", .short_name = "errors"});
    }};

const Registry<Metric>::Add top_k_metric{
    {.name = "top_k",
     .help = "fraction of samples whose class is among the k largest outputs",
     .primary = "k",
     .settings = {integer("k", "largest outputs that count").at_least(1)}},
    [](const Config& config) {
      const auto k = config.get<std::int64_t>("k");
      return std::make_unique<LabelRank>(
          config, LabelRank::Settings{
                      .k = k, .name = fmt::format("top_{}", k), .short_name = fmt::format("top {}", k)});
    }};

}  // namespace
}  // namespace trainer
