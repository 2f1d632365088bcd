#include <algorithm>
#include <array>
#include <numeric>

#include "engine/math/elementwise.h"
#include "models/losses/output_loss.h"

namespace trainer {
namespace {

/// trainer::sigmoid_cross_entropy, summed over outputs.
class SigmoidCrossEntropy final : public OutputLoss {
 public:
  explicit SigmoidCrossEntropy(const Config& config) : OutputLoss(config) {}
  Link link() const override { return Link::sigmoid; }

  double evaluate(ConstTensor y, const Targets& targets, float scale, Tensor dy) const override {
    constexpr std::int64_t kBlock = 256;
    std::array<float, kBlock> target, losses, unused;
    const std::int64_t outputs = y.row_size();
    double loss = 0;
    for (std::int64_t row = 0; row < y.rows(); ++row)
      for (std::int64_t first = 0; first < outputs; first += kBlock) {
        const std::int64_t count = std::min(kBlock, outputs - first), at = row * outputs + first;
        for (std::int64_t i = 0; i < count; ++i)
          target[static_cast<std::size_t>(i)] = target_of(targets, row, first + i, outputs);
        trainer::sigmoid_cross_entropy(count, scale, y.data() + at, target.data(), losses.data(),
                                       dy.empty() ? unused.data() : dy.data() + at);
        loss = std::accumulate(losses.begin(), losses.begin() + count, loss);
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
