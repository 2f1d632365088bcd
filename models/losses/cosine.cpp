#include <cmath>

#include "models/losses/output_loss.h"

namespace trainer {
namespace {

/// 1 - cosine of the angle between output and target.
class Cosine final : public OutputLoss {
 public:
  explicit Cosine(const Config& config) : OutputLoss(config) {}

  double evaluate(ConstTensor y, const Targets& targets, float scale, Tensor dy) const override {
    constexpr double kLeast = 1e-8;  // product of norms below which a vector counts as zero
    const std::int64_t outputs = y.row_size();
    double loss = 0;
    for (std::int64_t row = 0; row < y.rows(); ++row) {
      double dot = 0, of_y = 0, of_target = 0;
      for (std::int64_t k = 0; k < outputs; ++k) {
        const double value = y[row * outputs + k], target = target_of(targets, row, k, outputs);
        dot += value * target;
        of_y += value * value;
        of_target += target * target;
      }
      const double lengths = std::sqrt(of_y) * std::sqrt(of_target);
      const bool is_short = lengths < kLeast;
      const double divisor = is_short ? kLeast : lengths, cosine = dot / divisor;
      loss += 1 - cosine;
      if (dy.empty()) continue;
      for (std::int64_t k = 0; k < outputs; ++k) {
        const double value = y[row * outputs + k], target = target_of(targets, row, k, outputs);
        const double along = is_short ? 0 : cosine * value / of_y;
        dy[row * outputs + k] = scale * static_cast<float>(along - target / divisor);
      }
    }
    return loss;
  }
};

const Registry<Loss>::Add cosine_loss{
    {.name = "cosine", .help = "1 - cosine of the angle between output and target"},
    [](const Config& config) { return std::make_unique<Cosine>(config); }};

}  // namespace
}  // namespace trainer
