#include <cmath>

#include "engine/core/elementary.h"
#include "models/losses/output_loss.h"

namespace trainer {
namespace {

/// -t log s(y) - (1 - t) log(1 - s(y)) with s the logistic function, summed over outputs.
class SigmoidCrossEntropy final : public OutputLoss {
 public:
  explicit SigmoidCrossEntropy(const Config& config) : OutputLoss(config) {}
  Link link() const override { return Link::sigmoid; }

  double evaluate(ConstTensor y, const Targets& targets, float scale, Tensor dy) const override {
    const std::int64_t outputs = y.row_size();
    double loss = 0;
    for (std::int64_t row = 0; row < y.rows(); ++row)
      for (std::int64_t k = 0; k < outputs; ++k) {
        const std::int64_t i = row * outputs + k;
        const double logit = y[i], target = target_of(targets, row, k, outputs);
        // exp(-|y|) cannot overflow; log1p keeps a NaN that the comparison passed over.
        const double decay = elementary::exp(-std::fabs(logit));
        loss += (logit > 0 ? logit : 0) - logit * target + elementary::log1p(decay);
        if (!dy.empty()) dy[i] = scale * static_cast<float>((logit > 0 ? 1 : decay) / (1 + decay) - target);
      }
    return loss;
  }
};

const Registry<Loss>::Add sigmoid_cross_entropy_loss{
    {.name = "sigmoid_cross_entropy",
     .help = "cross-entropy of independent labels, summed over outputs; expects logits, so put no activation "
             "before it"},
    [](const Config& config) { return std::make_unique<SigmoidCrossEntropy>(config); }};

}  // namespace
}  // namespace trainer
