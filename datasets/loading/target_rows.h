#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/loading/mixing.h"

namespace trainer {

/// The targets of a worker's rows, in memory that it reuses.
class TargetRows {
 public:
  /// Reads the targets of these samples. The result is valid until the next call.
  const Targets& read(const Dataset& split, std::span<const std::int64_t> samples);
  /// The same, mixed as `mixing` mixes the samples in an epoch.
  const Targets& read(const Dataset& split, std::span<const std::int64_t> samples, const Mixing& mixing,
                      std::int64_t epoch);
  const Targets& targets() const { return targets_; }

 private:
  std::vector<std::int32_t> labels_, other_labels_;
  std::vector<float> values_, other_values_, shares_, weights_;
  std::vector<std::int64_t> partners_;
  Targets targets_;
};

}  // namespace trainer
