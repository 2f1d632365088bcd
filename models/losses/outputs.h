#pragma once

#include "datasets/dataset.h"

namespace trainer {

/// Error(usage) unless the network gives one output for each class. `member` is the loss or metric that
/// requires it.
void require_output_per_class(const Config& member, const Shape& output, int classes);

/// The target of output `element` of row `row`; labels are one-hot.
inline float target_of(const Targets& targets, std::int64_t row, std::int64_t element, std::int64_t outputs) {
  if (targets.labels.empty()) return targets.values[row * outputs + element];
  return targets.labels[static_cast<std::size_t>(row)] == element ? 1.0f : 0.0f;
}

}  // namespace trainer
