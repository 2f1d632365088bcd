#include <cmath>

#include "models/losses/outputs.h"
#include "models/metrics/metric.h"

namespace trainer {
namespace {

/// The fraction of labels, each 0 or 1, that is predicted right.
class LabelAccuracy final : public Metric {
 public:
  explicit LabelAccuracy(const Config& config)
      : config_(config), threshold_(config.get<float>("threshold")) {}

  void setup(const Shape& output, int classes) override {
    if (classes > 0) require_output_per_class(config_, output, classes);
    outputs_ = output.size();
  }
  std::string name() const override { return "label_accuracy"; }
  std::string short_name() const override { return "labels"; }
  bool counts_samples() const override { return false; }
  void add(ConstTensor y, const Targets& targets, std::span<double> sums) const override {
    for (std::int64_t row = 0; row < y.rows(); ++row)
      for (std::int64_t k = 0; k < outputs_; ++k) {
        const float output = y[row * outputs_ + k];
        const bool is_present = target_of(targets, row, k, outputs_) > 0.5f;
        if (!std::isnan(output) && (output > threshold_) == is_present) sums[0] += 1;
      }
  }
  double value(std::span<const double> sums, double samples) const override {
    return sums[0] / samples / static_cast<double>(outputs_);
  }

 private:
  Config config_;
  float threshold_;
  std::int64_t outputs_ = 1;
};

const Registry<Metric>::Add label_accuracy_metric{
    {.name = "label_accuracy",
     .help = "fraction of labels, each 0 or 1, that is predicted right",
     .primary = "threshold",
     .settings = {real("threshold", "an output above it predicts 1; set 0.5 if the last layer is a sigmoid")
                      .fallback("0")}},
    [](const Config& config) { return std::make_unique<LabelAccuracy>(config); }};

}  // namespace
}  // namespace trainer
