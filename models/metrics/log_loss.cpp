// log_loss, perplexity and bits_per_character: the cross-entropy in three units.
#include <algorithm>
#include <numbers>

#include "engine/core/elementary.h"
#include "models/losses/outputs.h"
#include "models/metrics/metric.h"

namespace trainer {
namespace {

/// -log softmax(outputs)[label]; NaN if an output is.
double cross_entropy(std::span<const float> outputs, std::int32_t label) {
  const double largest = *std::max_element(outputs.begin(), outputs.end());
  double sum = 0;
  for (const float output : outputs) sum += elementary::exp(static_cast<double>(output) - largest);
  return elementary::log(sum) + largest - static_cast<double>(outputs[static_cast<std::size_t>(label)]);
}

/// A function of the mean cross-entropy over labels.
class LogLoss final : public Metric {
 public:
  using OfMean = double (*)(double mean);
  LogLoss(const Config& config, std::string short_name, OfMean of_mean)
      : config_(config), short_name_(std::move(short_name)), of_mean_(of_mean) {}

  void setup(const Shape& output, int classes) override {
    require_output_per_class(config_, output, classes);
    classes_ = static_cast<std::size_t>(classes);
  }
  std::string name() const override { return config_.type(); }
  std::string short_name() const override { return short_name_; }
  bool higher_is_better() const override { return false; }
  bool is_fraction() const override { return false; }

  void add(ConstTensor y, const Targets& targets, std::span<double> sums) const override {
    for (std::size_t i = 0; i < targets.labels.size(); ++i)
      sums[0] += cross_entropy(y.span().subspan(i * classes_, classes_), targets.labels[i]);
  }
  double value(std::span<const double> sums, double samples) const override {
    return of_mean_(sums[0] / samples);
  }

 private:
  Config config_;
  std::string short_name_;
  OfMean of_mean_;
  std::size_t classes_ = 1;
};

Registry<Metric>::Make make(const char* short_name, LogLoss::OfMean of_mean) {
  return [=](const Config& config) { return std::make_unique<LogLoss>(config, short_name, of_mean); };
}

const Registry<Metric>::Add log_loss_metric{
    {.name = "log_loss",
     .help = "mean of -log of the right class's probability; expects logits, as softmax_cross_entropy does"},
    make("log loss", [](double mean) { return mean; })};

const Registry<Metric>::Add perplexity_metric{{.name = "perplexity", .help = "exp of the log loss"},
                                              make("ppl", [](double mean) { return elementary::exp(mean); })};

const Registry<Metric>::Add bits_metric{
    {.name = "bits_per_character", .help = "the log loss in bits, for classes that are characters"},
    make("bpc", [](double mean) { return mean / std::numbers::ln2; })};

}  // namespace
}  // namespace trainer
