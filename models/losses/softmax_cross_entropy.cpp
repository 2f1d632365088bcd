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
    std::vector<double> weights;
    for (const Config& weight : config.items("class_weights")) weights.push_back(weight.value<double>());
    set_weights(std::move(weights));
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
    set_weights(balanced_weights(counts));
  }

  double evaluate(ConstTensor y, const Targets& targets, float scale, Tensor dy) const override {
    const std::int64_t classes = y.row_size();
    if (!dy.empty()) softmax(y.rows(), classes, y.data(), dy.data());
    double loss = 0;
    for (std::int64_t row = 0; row < y.rows(); ++row) {
      const std::int32_t label = targets.labels[static_cast<std::size_t>(row)];
      const float* const logits = y.data() + row * classes;
      if (dy.empty())
        loss += smoothing_ > 0 ? spread_loss(logits, classes, label)
                               : weight(label) * loss_of_logits(logits, classes, label);
      else
        loss += loss_and_gradient(logits, classes, label, scale, dy.data() + row * classes);
    }
    return loss;
  }

 private:
  double weight(std::int64_t k) const { return weights_.empty() ? 1 : weights_[static_cast<std::size_t>(k)]; }
  void set_weights(std::vector<double> weights) {
    weights_ = std::move(weights);
    sum_of_weights_ = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    weights_as_float_.assign(weights_.begin(), weights_.end());
  }
  /// The weight of -log softmax[label] in the loss beside that which is spread over all classes.
  double own_share(std::int32_t label) const { return (1 - smoothing_) * weight(label); }
  double spread_loss(const float* logits, std::int64_t classes, std::int32_t label) const {
    const std::int64_t largest = largest_of(logits, classes);
    const double to_largest = loss_of_logits(logits, classes, static_cast<std::int32_t>(largest));
    const double share = smoothing_ / static_cast<double>(classes);
    double loss = 0;
    for (std::int64_t k = 0; k < classes; ++k)
      loss += (share * weight(k) + (k == label ? own_share(label) : 0)) *
              (to_largest + static_cast<double>(logits[largest]) - static_cast<double>(logits[k]));
    return loss;
  }
  /// `gradient`: softmax, which becomes the gradient.
  double loss_and_gradient(const float* logits, std::int64_t classes, std::int32_t label, float scale,
                           float* gradient) const {
    float largest = 0;
    const float others = softmax_rest(classes, logits, gradient, &largest);
    const double to_largest = elementary::log1p(static_cast<double>(others)), own = own_share(label);
    double loss = own * (to_largest - static_cast<double>(logits[label] - largest)), total = own;
    if (smoothing_ > 0) {
      const float* const weights = weights_.empty() ? nullptr : weights_as_float_.data();
      const double share = smoothing_ / static_cast<double>(classes),
                   all = weights_.empty() ? static_cast<double>(classes) : sum_of_weights_;
      total += share * all;
      loss +=
          share * (all * to_largest + static_cast<double>(softmax_spread(classes, logits, largest, weights)));
      softmax_spread_gradient(classes, scale * static_cast<float>(total), scale * static_cast<float>(share),
                              weights, gradient);
    } else {
      trainer::scale(classes, scale * static_cast<float>(own), gradient, gradient);
    }
    gradient[label] -= scale * static_cast<float>(own);
    return loss;
  }

  Config config_;
  double smoothing_;
  bool balances_ = false;
  std::vector<double> weights_;
  double sum_of_weights_ = 0;
  std::vector<float> weights_as_float_;
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
