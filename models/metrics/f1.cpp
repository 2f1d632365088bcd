#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/losses/outputs.h"
#include "models/metrics/metric.h"

namespace trainer {
namespace {

/// The harmonic mean of precision and recall of one class, or averaged over classes that are present or
/// predicted, as scikit-learn does. Target values are labels: 1 present, 0 absent.
class F1 final : public Metric {
 public:
  explicit F1(const Config& config)
      : config_(config), one_(config.has("class")), threshold_(config.get<float>("threshold")) {
    if (one_) class_ = static_cast<std::size_t>(config.get<std::int64_t>("class"));
  }

  void setup(const Shape& output, int classes) override {
    if (classes > 0) require_output_per_class(config_, output, classes);
    classes_ = static_cast<std::size_t>(output.size());
    if (class_ >= classes_)
      config_.fail("class",
                   fmt::format("class is {}, the data has {} classes, counted from 0", class_, classes_));
  }
  std::string name() const override { return one_ ? fmt::format("f1_{}", class_) : "f1"; }
  /// For each class: how often it is present, predicted, and both.
  int sums() const override { return static_cast<int>(3 * classes_); }

  void add(ConstTensor y, const Targets& targets, std::span<double> sums) const override {
    if (targets.labels.empty()) return add_labels(y, targets.values, sums);
    for (std::size_t row = 0; row < targets.labels.size(); ++row) {
      const auto outputs = y.span().subspan(row * classes_, classes_);
      const auto label = static_cast<std::size_t>(targets.labels[row]);
      sums[3 * label] += 1;
      // A row with a NaN predicts nothing.
      if (std::ranges::any_of(outputs, [](float output) { return std::isnan(output); })) continue;
      const auto predicted = static_cast<std::size_t>(std::ranges::max_element(outputs) - outputs.begin());
      sums[3 * predicted + 1] += 1;
      if (predicted == label) sums[3 * predicted + 2] += 1;
    }
  }
  double value(std::span<const double> sums, double) const override {
    const auto occurrences = [&](std::size_t k) { return sums[3 * k] + sums[3 * k + 1]; };
    const auto of_class = [&](std::size_t k) {
      return occurrences(k) > 0 ? 2 * sums[3 * k + 2] / occurrences(k) : 0;
    };
    if (one_) return of_class(class_);
    double total = 0, classes = 0;
    for (std::size_t k = 0; k < classes_; ++k) {
      total += of_class(k);
      classes += occurrences(k) > 0 ? 1 : 0;
    }
    return classes > 0 ? total / classes : 0;
  }

 private:
  void add_labels(ConstTensor y, ConstTensor values, std::span<double> sums) const {
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const std::size_t k = 3 * (static_cast<std::size_t>(i) % classes_);
      const bool is_present = values[i] > 0.5f, is_predicted = y[i] > threshold_;
      sums[k] += is_present ? 1 : 0;
      sums[k + 1] += is_predicted ? 1 : 0;
      sums[k + 2] += is_present && is_predicted ? 1 : 0;
    }
  }

  Config config_;
  bool one_;
  float threshold_;
  std::size_t class_ = 0, classes_ = 1;
};

const Registry<Metric>::Add f1_metric{
    {.name = "f1",
     .help = "harmonic mean of precision and recall, averaged over the classes that are present or predicted",
     .primary = "class",
     .settings =
         {integer("class", "this class alone, from 0").at_least(0).optional(),
          real("threshold",
               "targets of 0 and 1: an output above it predicts 1; set 0.5 if the last layer is a sigmoid")
              .fallback("0")}},
    [](const Config& config) { return std::make_unique<F1>(config); }};

}  // namespace
}  // namespace trainer
