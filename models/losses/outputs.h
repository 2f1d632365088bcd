#pragma once

#include "datasets/dataset.h"

namespace trainer {

/// Fails unless the network gives one output for each class. `who` is the loss or metric that wants it.
void require_output_per_class(const Config& who, const Shape& output, int classes);

/// What output `element` of row `row` should be; labels count as one-hot vectors.
inline float target_of(const Targets& targets, std::int64_t row, std::int64_t element, std::int64_t outputs) {
  if (targets.labels.empty()) return targets.values[row * outputs + element];
  return targets.labels[static_cast<std::size_t>(row)] == element ? 1.0f : 0.0f;
}

}  // namespace trainer
