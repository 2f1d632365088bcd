#include <cmath>
#include <utility>

#include "models/losses/output_loss.h"

namespace trainer {
namespace {

/// Huber loss (1964) as PyTorch defines it, averaged over outputs.
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

const Registry<Loss>::Add huber_loss{
    {.name = "huber",
     .help = "quadratic for differences up to `delta`, linear beyond; averaged over outputs",
     .primary = "delta",
     .settings = {real("delta", "difference at which the loss becomes linear").above(0).fallback("1")}},
    [](const Config& config) { return std::make_unique<Huber>(config); }};

}  // namespace
}  // namespace trainer
