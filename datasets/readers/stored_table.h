#pragma once

#include <span>
#include <vector>

#include "datasets/readers/table_features.h"
#include "datasets/readers/values.h"

namespace trainer {

/// The rows of a table as samples. Memory holds their cells; read() makes elements of them.
class StoredTable final : public ValueDataset {
 public:
  /// `cells` (size, inputs), `targets` (size, target) if targets are values. The info's sample is set by
  /// `features`.
  StoredTable(ValueSplit split, TableFeatures features, std::vector<float> cells, std::vector<float> targets);

  void read(std::span<const std::int64_t> indices, Tensor x) const override;
  /// The cells, then the targets.
  std::int64_t stored_bytes() const override;
  void fill(std::span<std::uint8_t> memory) override;
  void attach(std::span<std::uint8_t> memory) override;

 private:
  void read_target_values(std::span<const std::int64_t> indices, Tensor targets) const override;

  TableFeatures features_;
  std::size_t cell_count_, target_count_;
  std::vector<float> read_cells_, read_targets_;  ///< until they are in the attached memory
  std::span<const float> cells_, targets_;
};

}  // namespace trainer
