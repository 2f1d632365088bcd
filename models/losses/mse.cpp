#include "models/losses/loss.h"
#include "models/losses/outputs.h"

namespace trainer {
namespace {

/// The squared difference to the target, averaged over outputs.
class MeanSquaredError final : public Loss {
 public:
  explicit MeanSquaredError(const Config& config) : config_(config) {}

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
        loss += difference * difference * share;
        if (!dy.empty()) dy[i] = scale * static_cast<float>(2 * difference * share);
      }
    return loss;
  }

 private:
  Config config_;
};

const Registry<Loss>::Add registered{
    {.name = "mse",
     .help = "squared difference to the target (for classes 1 at the right one, 0 elsewhere), averaged over "
             "outputs"},
    [](const Config& config) { return std::make_unique<MeanSquaredError>(config); }};

}  // namespace
}  // namespace trainer
