#pragma once

#include "models/losses/loss.h"
#include "models/losses/outputs.h"

namespace trainer {

/// A loss that compares each output with a target value; classes are one-hot targets.
class OutputLoss : public Loss {
 public:
  void setup(const Shape& output, int classes) final {
    if (classes > 0) require_output_per_class(config_, output, classes);
  }

 protected:
  explicit OutputLoss(const Config& config) : config_(config) {}

 private:
  Config config_;
};

/// Loss::evaluate() of the mean over outputs of term(output - target), which returns value and derivative.
template <class Term>
double evaluate_differences(ConstTensor y, const Targets& targets, float scale, Tensor dy, Term term) {
  const std::int64_t outputs = y.row_size();
  const double share = 1.0 / static_cast<double>(outputs);
  double loss = 0;
  for (std::int64_t row = 0; row < y.rows(); ++row)
    for (std::int64_t k = 0; k < outputs; ++k) {
      const std::int64_t i = row * outputs + k;
      const auto [value, derivative] = term(static_cast<double>(y[i]) - target_of(targets, row, k, outputs));
      loss += share * value;
      if (!dy.empty()) dy[i] = scale * static_cast<float>(share * derivative);
    }
  return loss;
}

}  // namespace trainer
