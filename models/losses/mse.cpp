#include <utility>

#include "models/losses/output_loss.h"

namespace trainer {
namespace {

/// The squared difference to the target, averaged over outputs.
class MeanSquaredError final : public OutputLoss {
 public:
  explicit MeanSquaredError(const Config& config) : OutputLoss(config) {}

  double evaluate(ConstTensor y, const Targets& targets, float scale, Tensor dy) const override {
    return evaluate_differences(y, targets, scale, dy, [](double difference) {
      return std::pair(difference * difference, 2 * difference);
    });
  }
};

const Registry<Loss>::Add mse_loss{
    {.name = "mse",
     .help = "squared difference between output and target, averaged over outputs; classes count as one-hot "
             "targets"},
    [](const Config& config) { return std::make_unique<MeanSquaredError>(config); }};

}  // namespace
}  // namespace trainer
