// mae and r2: differences between predictions and target values; classes are one-hot targets.
#include <cmath>

#include "models/losses/link.h"
#include "models/losses/outputs.h"
#include "models/metrics/metric.h"

namespace trainer {
namespace {

class ValueMetric : public Metric {
 public:
  explicit ValueMetric(const Config& config) : config_(config) {}
  void setup(const Shape& output, int classes) override {
    if (classes > 0) require_output_per_class(config_, output, classes);
    outputs_ = output.size();
  }
  void use_link(Link link) final { link_ = link; }
  std::string name() const override { return config_.type(); }
  bool is_fraction() const override { return false; }

 protected:
  /// visit(output, prediction - target, target) for each output of each row.
  template <class Visit>
  void for_each_difference(ConstTensor y, const Targets& targets, Visit visit) const {
    for (std::int64_t row = 0; row < y.rows(); ++row) {
      const RowPredictions predictions(link_, y.rows(row, 1).span());
      for (std::int64_t k = 0; k < outputs_; ++k) {
        const double target = target_of(targets, row, k, outputs_);
        visit(static_cast<std::size_t>(k), predictions[static_cast<std::size_t>(k)] - target, target);
      }
    }
  }
  std::int64_t outputs_ = 0;

 private:
  Config config_;
  Link link_ = Link::identity;
};

/// |prediction - target|, averaged over outputs and samples.
class MeanAbsoluteError final : public ValueMetric {
 public:
  using ValueMetric::ValueMetric;
  bool higher_is_better() const override { return false; }
  void add(ConstTensor y, const Targets& targets, std::span<double> sums) const override {
    for_each_difference(y, targets,
                        [&](std::size_t, double difference, double) { sums[0] += std::fabs(difference); });
  }
  double value(std::span<const double> sums, double samples) const override {
    return sums[0] / samples / static_cast<double>(outputs_);
  }
};

/// Coefficient of determination: 1 - squared differences / squared deviations of the targets from their mean;
/// averaged over the outputs whose targets differ; NaN without one.
class Determination final : public ValueMetric {
 public:
  using ValueMetric::ValueMetric;
  int sums() const override { return static_cast<int>(3 * outputs_); }
  void add(ConstTensor y, const Targets& targets, std::span<double> sums) const override {
    for_each_difference(y, targets, [&](std::size_t k, double difference, double target) {
      sums[3 * k] += difference * difference;
      sums[3 * k + 1] += target;
      sums[3 * k + 2] += target * target;
    });
  }
  double value(std::span<const double> sums, double samples) const override {
    double total = 0, outputs = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(outputs_); ++k) {
      const double squares = sums[3 * k + 2],
                   deviations = squares - sums[3 * k + 1] * sums[3 * k + 1] / samples;
      constexpr double kRounding = 0x1p-53;  // of each addition
      if (deviations <= squares * samples * kRounding) continue;
      total += 1 - sums[3 * k] / deviations;
      outputs += 1;
    }
    return total / outputs;
  }
};

const Registry<Metric>::Add mae_metric{
    {.name = "mae", .help = "mean absolute difference between prediction and target"},
    [](const Config& config) { return std::make_unique<MeanAbsoluteError>(config); }};

const Registry<Metric>::Add r2_metric{
    {.name = "r2",
     .help = "coefficient of determination, averaged over the outputs whose targets differ; 1 is best"},
    [](const Config& config) { return std::make_unique<Determination>(config); }};

}  // namespace
}  // namespace trainer
