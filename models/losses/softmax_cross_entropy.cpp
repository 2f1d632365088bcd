#include <cmath>

#include "models/losses/loss.h"
#include "models/losses/outputs.h"

namespace trainer {
namespace {

/// -log softmax(y)[label], computed together so that it neither overflows nor loses digits.
class SoftmaxCrossEntropy final : public Loss {
 public:
  explicit SoftmaxCrossEntropy(const Config& config) : config_(config) {}

  void setup(const Shape& output, int classes) override {
    require_output_per_class(config_, output, classes);
  }

  double evaluate(ConstTensor y, const Targets& targets, float scale, Tensor dy) const override {
    const std::int64_t classes = y.row_size();
    double loss = 0;
    for (std::int64_t row = 0; row < y.rows(); ++row) {
      const float* const logits = y.data() + row * classes;
      const std::int32_t label = targets.labels[static_cast<std::size_t>(row)];
      float largest = logits[0];
      for (std::int64_t k = 1; k < classes; ++k) largest = logits[k] > largest ? logits[k] : largest;
      // A NaN that the maximum passed over comes back through this sum.
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(static_cast<double>(logits[k] - largest));
      loss += std::log(sum) - static_cast<double>(logits[label] - largest);
      if (dy.empty()) continue;
      float* const gradient = dy.data() + row * classes;
      for (std::int64_t k = 0; k < classes; ++k)
        gradient[k] = scale * static_cast<float>(std::exp(static_cast<double>(logits[k] - largest)) / sum -
                                                 (k == label ? 1 : 0));
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
