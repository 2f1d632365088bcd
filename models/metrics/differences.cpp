// mae and r2: how far outputs are from targets that are numbers (of classes, from 1 at the right one and 0
// elsewhere).
#include <cmath>

#include "models/losses/outputs.h"
#include "models/metrics/metric.h"

namespace trainer {
namespace {

/// visit(output, difference to the target, target) for each output of each row.
template <class Visit>
void for_each_difference(ConstTensor y, const Targets& targets, Visit visit) {
  const std::int64_t outputs = y.row_size();
  for (std::int64_t row = 0; row < y.rows(); ++row)
    for (std::int64_t k = 0; k < outputs; ++k) {
      const double target = target_of(targets, row, k, outputs);
      visit(static_cast<std::size_t>(k), static_cast<double>(y[row * outputs + k]) - target, target);
    }
}

/// What both have in common: names, and that they are no fractions.
class OfNumbers : public Metric {
 public:
  explicit OfNumbers(const Config& config) : config_(config) {}
  void setup(const Shape& output, int classes) override {
    if (classes > 0) require_output_per_class(config_, output, classes);
    outputs_ = output.size();
  }
  std::string name() const override { return config_.type(); }
  bool is_fraction() const override { return false; }

 protected:
  std::int64_t outputs_ = 0;

 private:
  Config config_;
};

/// The size of the difference, averaged over outputs and samples.
class MeanAbsoluteError final : public OfNumbers {
 public:
  using OfNumbers::OfNumbers;
  bool higher_is_better() const override { return false; }
  void add(ConstTensor y, const Targets& targets, std::span<double> sums) const override {
    for_each_difference(y, targets,
                        [&](std::size_t, double difference, double) { sums[0] += std::fabs(difference); });
  }
  double value(std::span<const double> sums, double samples) const override {
    return sums[0] / samples / static_cast<double>(outputs_);
  }
};

/// 1 - squared differences over those to the mean of the targets; for several outputs, the mean of theirs.
class Determination final : public OfNumbers {
 public:
  using OfNumbers::OfNumbers;
  int sums() const override { return static_cast<int>(3 * outputs_); }
  void add(ConstTensor y, const Targets& targets, std::span<double> sums) const override {
    for_each_difference(y, targets, [&](std::size_t k, double difference, double target) {
      sums[3 * k] += difference * difference;
      sums[3 * k + 1] += target;
      sums[3 * k + 2] += target * target;
    });
  }
  double value(std::span<const double> sums, double samples) const override {
    double total = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(outputs_); ++k)
      total += 1 - sums[3 * k] / (sums[3 * k + 2] - sums[3 * k + 1] * sums[3 * k + 1] / samples);
    return total / static_cast<double>(outputs_);
  }
};

const Registry<Metric>::Add mae{
    {.name = "mae", .help = "the mean size of the difference between output and target"},
    [](const Config& config) { return std::make_unique<MeanAbsoluteError>(config); }};

const Registry<Metric>::Add r2{
    {.name = "r2", .help = "the part of the targets' variance that outputs explain; 1 is best"},
    [](const Config& config) { return std::make_unique<Determination>(config); }};

}  // namespace
}  // namespace trainer
