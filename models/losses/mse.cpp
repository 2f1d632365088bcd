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

const Registry<Loss>::Add registered{
    {.name = "mse",
     .help = "squared difference to the target (for classes 1 at the right one, 0 elsewhere), averaged over "
             "outputs"},
    [](const Config& config) { return std::make_unique<MeanSquaredError>(config); }};

}  // namespace
}  // namespace trainer
