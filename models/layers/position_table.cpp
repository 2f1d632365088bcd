#include "models/layers/position_table.h"

#include <algorithm>

#include "engine/math/elementwise.h"

namespace trainer {

void sum_by_position(ConstTensor dy, const VirtualWorker& worker, Tensor gradient, const Pass& pass) {
  const std::int64_t size = gradient.size();
  // Columns of all rows lie one behind the other.
  if (!pass.is_packed())
    return column_sums(worker.count, size, dy.data() + worker.first * size, false, gradient.data());
  std::ranges::fill(gradient.span(), 0.0f);
  const std::int64_t positions = gradient.shape()[0], units = size / positions;
  for (std::int64_t row = worker.first; row < worker.first + worker.count; ++row)
    for (std::int64_t t = 0; t < positions; ++t)
      accumulate(units, dy.data() + row * size + t * units, gradient.data() + pass.position(row, t) * units);
}

}  // namespace trainer
