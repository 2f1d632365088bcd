#include "datasets/dataset.h"

#include <stdexcept>

namespace trainer {

void Dataset::read_targets(std::span<const std::int64_t>, Tensor) const {
  throw std::logic_error("targets that are classes were read as numbers");
}

void Dataset::read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const {
  for (std::size_t i = 0; i < indices.size(); ++i) labels[i] = label(indices[i]);
}

std::unique_ptr<Dataset> Dataset::stretch(double, double, bool) const { return nullptr; }

}  // namespace trainer
