#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "engine/core/elementary.h"
#include "models/losses/outputs.h"
#include "models/metrics/metric.h"

namespace trainer {
namespace {

// In training, scores are counted in bins, whose counts can be added over batches: 64 bins for each power of
// two from 2^-12 to 2^8, and as many for negative scores. Two scores of one bin count as equal.
constexpr int kBinsPerOctave = 64, kLeastExponent = -12, kOctaves = 20;
constexpr int kHalf = kOctaves * kBinsPerOctave, kBins = 2 * kHalf + 1;

/// Ascending with the score.
int bin_of(float score) {
  constexpr int kMantissaDigits = 23, kDropped = kMantissaDigits - std::countr_zero(unsigned{kBinsPerOctave});
  constexpr std::uint32_t kSign = 0x80000000u;
  // Of the exponent and digits that stay.
  constexpr std::int64_t kFirst = (127 + kLeastExponent) * kBinsPerOctave;
  const auto bits = std::bit_cast<std::uint32_t>(score);
  const std::int64_t place = static_cast<std::int64_t>((bits & ~kSign) >> kDropped) - kFirst + 1;
  const int distance = static_cast<int>(std::clamp<std::int64_t>(place, 0, kHalf));
  return (bits & kSign) != 0 ? kHalf - distance : kHalf + distance;
}

/// The area under the ROC curve: the probability that a sample of the class has a higher score than another
/// one.
class AreaUnderCurve final : public Metric {
 public:
  explicit AreaUnderCurve(const Config& config)
      : config_(config),
        is_named_(config.has("class")),
        class_(is_named_ ? config.get<std::int64_t>("class") : 1) {}

  void setup(const Shape& output, int classes) override {
    if (classes > 0) require_output_per_class(config_, output, classes);
    has_classes_ = classes > 0;
    if (class_ >= output.size())
      config_.fail("class", fmt::format("class is {}, the model has {} outputs, counted from 0", class_,
                                        output.size()));
  }
  std::string name() const override { return is_named_ ? fmt::format("auc_{}", class_) : "auc"; }
  bool is_fraction() const override { return false; }
  /// For each bin: samples of the class, other samples.
  int sums() const override { return 2 * kBins; }

  void add(ConstTensor y, const Targets& targets, std::span<double> sums) const override {
    for_each_score(y, targets, [&](float score, bool is_one) {
      const int sum = 2 * bin_of(score) + (is_one ? 0 : 1);
      sums[static_cast<std::size_t>(sum)] += 1;
    });
  }
  bool requires_scores() const override { return true; }
  void collect(ConstTensor y, const Targets& targets, ClassScores& scores) const override {
    for_each_score(y, targets,
                   [&](float score, bool is_one) { (is_one ? scores.own : scores.others).push_back(score); });
  }
  double value(std::span<const double> sums, double) const override {
    double pairs = 0, ones = 0, others = 0;
    for (std::size_t bin = 0; bin < sums.size(); bin += 2) {
      pairs += sums[bin] * (others + sums[bin + 1] / 2);
      ones += sums[bin];
      others += sums[bin + 1];
    }
    return pairs / (ones * others);
  }

 private:
  /// visit(score, is of the class) for each row.
  template <class Visit>
  void for_each_score(ConstTensor y, const Targets& targets, const Visit& visit) const {
    const std::int64_t outputs = y.row_size();
    for (std::int64_t row = 0; row < y.rows(); ++row)
      visit(score_of(y.rows(row, 1).span()), has_classes_
                                                 ? targets.labels[static_cast<std::size_t>(row)] == class_
                                                 : targets.values[row * outputs + class_] > 0.5f);
  }

  /// With classes, the log odds of the class under softmax; else the output itself.
  float score_of(std::span<const float> outputs) const {
    const auto own = static_cast<std::size_t>(class_);
    if (!has_classes_ || outputs.size() == 1) return outputs[own];
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (k != own) largest = std::max(largest, static_cast<double>(outputs[k]));
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (k != own) sum += elementary::exp(static_cast<double>(outputs[k]) - largest);
    return static_cast<float>(static_cast<double>(outputs[own]) - largest - elementary::log(sum));
  }

  Config config_;
  bool is_named_;
  std::int64_t class_;
  bool has_classes_ = false;
};

const Registry<Metric>::Add auc_metric{
    {.name = "auc",
     .help = "area under the ROC curve of one class, or of one output if targets are 0 and 1; in training, "
             "scores that differ by less than 1.6 % count as equal",
     .primary = "class",
     .settings = {integer("class", "class or output, from 0; 1 if not given").at_least(0).optional()}},
    [](const Config& config) { return std::make_unique<AreaUnderCurve>(config); }};

}  // namespace
}  // namespace trainer
