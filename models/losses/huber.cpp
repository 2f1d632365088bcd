#include <cmath>
#include <utility>

#include "models/losses/output_loss.h"

namespace trainer {
namespace {

/// Half the squared difference to the target up to `delta`, a straight line beyond it (Huber 1964), averaged
/// over outputs; as PyTorch defines it.
class Huber final : public OutputLoss {
 public:
  explicit Huber(const Config& config) : OutputLoss(config), delta_(config.get<double>("delta")) {}

  double evaluate(ConstTensor y, const Targets& targets, float scale, Tensor dy) const override {
    return evaluate_differences(y, targets, scale, dy, [delta = delta_](double difference) {
      const double size = std::fabs(difference);
      return size > delta ? std::pair(delta * (size - delta / 2), std::copysign(delta, difference))
                          : std::pair(difference * difference / 2, difference);
    });
  }

 private:
  double delta_;
};

const Registry<Loss>::Add registered{
    {.name = "huber",
     .help = "squared difference to the target where it is small, its size where it is large; averaged over "
             "outputs",
     .primary = "delta",
     .settings = {real("delta", "differences beyond it count by their size").above(0).fallback("1")}},
    [](const Config& config) { return std::make_unique<Huber>(config); }};

}  // namespace
}  // namespace trainer
