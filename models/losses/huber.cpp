#include <cmath>

#include "models/losses/loss.h"
#include "models/losses/outputs.h"

namespace trainer {
namespace {

/// Half the squared difference to the target up to `delta`, a straight line beyond it (Huber 1964), averaged
/// over outputs; as PyTorch defines it.
class Huber final : public Loss {
 public:
  explicit Huber(const Config& config) : config_(config), delta_(config.get<double>("delta")) {}

  void setup(const Shape& output, int classes) override {
    if (classes > 0) require_output_per_class(config_, output, classes);
  }

  double evaluate(ConstTensor y, const Targets& targets, float scale, Tensor dy) const override {
    const std::int64_t outputs = y.row_size();
    const double share = 1.0 / static_cast<double>(outputs);
    double loss = 0;
    for (std::int64_t row = 0; row < y.rows(); ++row)
      for (std::int64_t k = 0; k < outputs; ++k) {
        const std::int64_t i = row * outputs + k;
        const double difference = static_cast<double>(y[i]) - target_of(targets, row, k, outputs);
        const double size = std::fabs(difference);
        const bool is_far = size > delta_;
        loss += share * (is_far ? delta_ * (size - delta_ / 2) : difference * difference / 2);
        if (!dy.empty())
          dy[i] =
              scale * static_cast<float>(share * (is_far ? std::copysign(delta_, difference) : difference));
      }
    return loss;
  }

 private:
  Config config_;
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
