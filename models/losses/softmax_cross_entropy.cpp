#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "engine/core/elementary.h"
#include "engine/math/elementwise.h"
#include "models/losses/loss.h"
#include "models/losses/outputs.h"

namespace trainer {
namespace {

/// The first of the largest logits. NaNs are skipped; they reach the loss through the sums of the callers.
std::int64_t largest_of(const float* logits, std::int64_t classes) {
  return std::max_element(logits, logits + classes) - logits;
}

/// -log softmax[label]. The sum leaves out its largest term, which is 1, and so keeps the digits of a small
/// loss.
double loss_of_logits(const float* logits, std::int64_t classes, std::int32_t label) {
  const std::int64_t largest = largest_of(logits, classes);
  double others = 0;
  for (std::int64_t k = 0; k < classes; ++k)
    if (k != largest) others += elementary::exp(static_cast<double>(logits[k] - logits[largest]));
  return elementary::log1p(others) - static_cast<double>(logits[label] - logits[largest]);
}

/// The same, from softmax's probabilities.
double loss_of_probabilities(const float* logits, const float* probabilities, std::int64_t classes,
                             std::int32_t label) {
  float largest = 0;
  const float others = softmax_rest(classes, logits, probabilities, &largest);
  return elementary::log1p(static_cast<double>(others)) - static_cast<double>(logits[label] - largest);
}

/// All labels / (classes that occur * labels of the class), so that each class has the same share of the loss
/// and the mean weight of a label is 1 (King and Zeng 2001); 0 for a class without labels.
std::vector<double> balanced_weights(std::span<const std::int64_t> counts) {
  const auto occurring = static_cast<double>(std::ssize(counts) - std::ranges::count(counts, 0));
  const auto labels = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  std::vector<double> weights;
  for (const std::int64_t count : counts)
    weights.push_back(count == 0 ? 0 : labels / (occurring * static_cast<double>(count)));
  return weights;
}

/// -log softmax(y)[label], as log-sum-exp, which neither overflows nor loses digits. Label smoothing: Szegedy
/// et al. 2016.
class SoftmaxCrossEntropy final : public Loss {
 public:
  explicit SoftmaxCrossEntropy(const Config& config)
      : config_(config), smoothing_(config.get<double>("smoothing")) {
    if (!config.has("class_weights")) return;
    balances_ = config.is_word("class_weights", "balanced");
    if (balances_) return;
    for (const Config& weight : config.items("class_weights")) weights_.push_back(weight.value<double>());
  }

  void setup(const Shape& output, int classes) override {
    require_output_per_class(config_, output, classes);
    if (!weights_.empty() && std::ssize(weights_) != classes)
      config_.fail("class_weights", fmt::format("{} class weights for {} classes", weights_.size(), classes));
  }

  Link link() const override { return Link::softmax; }
  std::span<const double> class_weights() const override { return weights_; }
  bool requires_class_counts() const override { return balances_; }
  void use_class_counts(std::span<const std::int64_t> counts) override {
    weights_ = balanced_weights(counts);
  }

  double evaluate(ConstTensor y, const Targets& targets, float scale, Tensor dy) const override {
    const std::int64_t classes = y.row_size();
    const bool is_spread = smoothing_ > 0 || !weights_.empty();
    if (!dy.empty()) softmax(y.rows(), classes, y.data(), dy.data());
    double loss = 0;
    for (std::int64_t row = 0; row < y.rows(); ++row) {
      const std::int32_t label = targets.labels[static_cast<std::size_t>(row)];
      const float* const logits = y.data() + row * classes;
      if (dy.empty()) {
        loss += is_spread ? spread_loss(logits, classes, label) : loss_of_logits(logits, classes, label);
        continue;
      }
      float* const gradient = dy.data() + row * classes;
      if (is_spread) {
        loss += spread_loss(logits, classes, label);
        spread_gradient(gradient, classes, label, scale);
        continue;
      }
      loss += loss_of_probabilities(logits, gradient, classes, label);
      trainer::scale(classes, scale, gradient, gradient);
      gradient[label] -= scale;
    }
    return loss;
  }

 private:
  /// The weight of -log softmax[k] in the loss.
  double share(std::int64_t k, std::int64_t classes, std::int32_t label) const {
    const double part = smoothing_ / static_cast<double>(classes) + (k == label ? 1 - smoothing_ : 0);
    return weights_.empty() ? part : part * weights_[static_cast<std::size_t>(k)];
  }
  double spread_loss(const float* logits, std::int64_t classes, std::int32_t label) const {
    const std::int64_t largest = largest_of(logits, classes);
    const double to_largest = loss_of_logits(logits, classes, static_cast<std::int32_t>(largest));
    double loss = 0;
    for (std::int64_t k = 0; k < classes; ++k)
      loss += share(k, classes, label) *
              (to_largest + static_cast<double>(logits[largest]) - static_cast<double>(logits[k]));
    return loss;
  }
  /// From softmax, in place.
  void spread_gradient(float* gradient, std::int64_t classes, std::int32_t label, float scale) const {
    double total = 0;
    for (std::int64_t k = 0; k < classes; ++k) total += share(k, classes, label);
    for (std::int64_t k = 0; k < classes; ++k)
      gradient[k] =
          scale * static_cast<float>(total * static_cast<double>(gradient[k]) - share(k, classes, label));
  }

  Config config_;
  double smoothing_;
  bool balances_ = false;
  std::vector<double> weights_;
};

const Registry<Loss>::Add softmax_cross_entropy_loss{
    {.name = "softmax_cross_entropy",
     .help = "cross-entropy of one class of several; expects logits, so put no activation before it",
     .settings = {real("smoothing",
                       "label smoothing: the share of the target that is spread evenly over all classes")
                      .at_least(0)
                      .below(1)
                      .fallback("0"),
                  list_of("class_weights",
                          "one weight for each class; the loss is the weighted mean over labels; balanced: "
                          "weights in inverse proportion to the labels of each class in the training samples",
                          real("weight", "weight of a class").at_least(0))
                      .or_word("balanced")
                      .optional()}},
    [](const Config& config) { return std::make_unique<SoftmaxCrossEntropy>(config); }};

}  // namespace
}  // namespace trainer
