#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/losses/outputs.h"
#include "models/metrics/metric.h"

namespace trainer {
namespace {

/// The confusion matrix; its value is the recall, averaged over classes that are present.
class Confusion final : public Metric {
 public:
  explicit Confusion(const Config& config) : config_(config) {}

  void setup(const Shape& output, int classes) override {
    require_output_per_class(config_, output, classes);
    constexpr int kMax = 100;
    if (classes > kMax)
      config_.fail(
          "", fmt::format("a table of {} classes would slow down every step; at most {}", classes, kMax));
    classes_ = static_cast<std::size_t>(classes);
  }
  std::string name() const override { return "balanced_accuracy"; }
  std::string short_name() const override { return "balanced"; }
  /// The table (label, prediction); then, for each class, its samples with a NaN, which predict nothing.
  int sums() const override { return static_cast<int>(classes_ * (classes_ + 1)); }

  void add(ConstTensor y, const Targets& targets, std::span<double> sums) const override {
    for (std::size_t row = 0; row < targets.labels.size(); ++row) {
      const auto outputs = y.span().subspan(row * classes_, classes_);
      const auto label = static_cast<std::size_t>(targets.labels[row]);
      if (std::ranges::any_of(outputs, [](float output) { return std::isnan(output); }))
        sums[classes_ * classes_ + label] += 1;
      else
        sums[label * classes_ +
             static_cast<std::size_t>(std::ranges::max_element(outputs) - outputs.begin())] += 1;
    }
  }
  double value(std::span<const double> sums, double) const override {
    double total = 0, present = 0;
    for (std::size_t label = 0; label < classes_; ++label) {
      double samples = sums[classes_ * classes_ + label];
      for (std::size_t predicted = 0; predicted < classes_; ++predicted)
        samples += sums[label * classes_ + predicted];
      if (samples == 0) continue;
      total += sums[label * (classes_ + 1)] / samples;
      present += 1;
    }
    return total / present;
  }
  std::string table_name() const override { return "confusion"; }
  std::vector<double> table(std::span<const double> sums) const override {
    return {sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(classes_ * classes_)};
  }

 private:
  Config config_;
  std::size_t classes_ = 1;
};

const Registry<Metric>::Add confusion_metric{
    {.name = "confusion",
     .help =
         "confusion matrix, in `trainer eval` and metrics.jsonl; its column is balanced_accuracy, the recall "
         "averaged over classes"},
    [](const Config& config) { return std::make_unique<Confusion>(config); }};

}  // namespace
}  // namespace trainer
