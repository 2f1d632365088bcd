#include <algorithm>
#include <cmath>

#include "engine/math/elementwise.h"
#include "models/losses/loss.h"
#include "models/losses/outputs.h"

namespace trainer {
namespace {

/// The first of the largest; a NaN that it passes over comes back through the sums of its callers.
std::int64_t largest_of(const float* logits, std::int64_t classes) {
  return std::max_element(logits, logits + classes) - logits;
}

/// -log softmax[label]. The sum without its largest term, which is 1, keeps the digits of a small loss.
double loss_of_logits(const float* logits, std::int64_t classes, std::int32_t label) {
  const std::int64_t largest = largest_of(logits, classes);
  double others = 0;
  for (std::int64_t k = 0; k < classes; ++k)
    if (k != largest) others += std::exp(static_cast<double>(logits[k] - logits[largest]));
  return std::log1p(others) - static_cast<double>(logits[label] - logits[largest]);
}

/// The same where softmax is known.
double loss_of_probabilities(const float* logits, const float* probabilities, std::int64_t classes,
                             std::int32_t label) {
  const std::int64_t largest = largest_of(logits, classes);
  double others = 0;
  for (std::int64_t k = 0; k < classes; ++k)
    if (k != largest) others += static_cast<double>(probabilities[k]);
  return std::log1p(others / static_cast<double>(probabilities[largest])) -
         static_cast<double>(logits[label] - logits[largest]);
}

/// -log softmax(y)[label], computed together so that it neither overflows nor loses digits.
class SoftmaxCrossEntropy final : public Loss {
 public:
  explicit SoftmaxCrossEntropy(const Config& config) : config_(config) {}

  void setup(const Shape& output, int classes) override {
    require_output_per_class(config_, output, classes);
  }

  double evaluate(ConstTensor y, const Targets& targets, float scale, Tensor dy) const override {
    const std::int64_t classes = y.row_size();
    if (!dy.empty()) softmax(y.rows(), classes, y.data(), dy.data());
    double loss = 0;
    for (std::int64_t row = 0; row < y.rows(); ++row) {
      const std::int32_t label = targets.labels[static_cast<std::size_t>(row)];
      const float* const logits = y.data() + row * classes;
      if (dy.empty()) {
        loss += loss_of_logits(logits, classes, label);
        continue;
      }
      float* const gradient = dy.data() + row * classes;
      loss += loss_of_probabilities(logits, gradient, classes, label);
      for (std::int64_t k = 0; k < classes; ++k) gradient[k] *= scale;
      gradient[label] -= scale;
    }
    return loss;
  }

 private:
  Config config_;
};

const Registry<Loss>::Add registered{
    {.name = "softmax_cross_entropy", .help = "one class of several; put no activation before it"},
    [](const Config& config) { return std::make_unique<SoftmaxCrossEntropy>(config); }};

}  // namespace
}  // namespace trainer
