#include "models/losses/mixed_loss.h"

#include "engine/math/elementwise.h"

namespace trainer {

double mixed_loss(const Loss& loss, ConstTensor y, const Targets& targets, float scale, Tensor dy,
                  std::span<float> memory) {
  double sum = 0;
  for (std::int64_t row = 0; row < y.rows(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    const float share = targets.shares[at];
    const ConstTensor row_y = y.rows(row, 1);
    const Tensor row_dy = dy.rows(row, 1), other_dy(memory.data(), row_y.shape());
    const Targets own{.labels = targets.labels.subspan(at, 1), .values = {}};
    const Targets other{.labels = targets.other_labels.subspan(at, 1), .values = {}};
    sum += static_cast<double>(share) * loss.evaluate(row_y, own, share * scale, row_dy);
    sum += static_cast<double>(1 - share) * loss.evaluate(row_y, other, (1 - share) * scale, other_dy);
    accumulate(row_dy.size(), other_dy.data(), row_dy.data());
  }
  return sum;
}

}  // namespace trainer
