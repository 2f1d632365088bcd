#include "models/losses/weighted_loss.h"

namespace trainer {

double weighted_loss(const Loss& loss, ConstTensor y, const Targets& targets, float scale, Tensor dy) {
  double sum = 0;
  for (std::int64_t row = 0; row < y.rows(); ++row) {
    const float weight = targets.weights[static_cast<std::size_t>(row)];
    const Tensor row_dy = dy.empty() ? Tensor() : dy.rows(row, 1);
    sum += static_cast<double>(weight) *
           loss.evaluate(y.rows(row, 1), targets.rows(row, 1), weight * scale, row_dy);
  }
  return sum;
}

}  // namespace trainer
