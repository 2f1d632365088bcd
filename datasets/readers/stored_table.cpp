#include "datasets/readers/stored_table.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace trainer {
namespace {

ValueSplit with_sample(ValueSplit split, const TableFeatures& features) {
  split.info.sample = {features.size()};
  split.info.scaled_channels = features.are_values();
  return split;
}

std::span<const float> row_of(std::span<const float> all, std::int64_t index, std::size_t size) {
  const std::size_t first = static_cast<std::size_t>(index) * size;
  if (index < 0 || first + size > all.size()) throw std::logic_error("a sample index out of range");
  return all.subspan(first, size);
}

}  // namespace

StoredTable::StoredTable(ValueSplit split, TableFeatures features, std::vector<float> cells,
                         std::vector<float> targets)
    : ValueDataset(with_sample(std::move(split), features)),
      features_(std::move(features)),
      cell_count_(cells.size()),
      target_count_(targets.size()),
      read_cells_(std::move(cells)),
      read_targets_(std::move(targets)) {}

void StoredTable::read(std::span<const std::int64_t> indices, Tensor x) const {
  for (std::size_t row = 0; row < indices.size(); ++row)
    features_.expand(row_of(cells_, indices[row], features_.inputs()),
                     x.rows(static_cast<std::int64_t>(row), 1).span());
}

void StoredTable::read_target_values(std::span<const std::int64_t> indices, Tensor targets) const {
  for (std::size_t row = 0; row < indices.size(); ++row)
    std::ranges::copy(row_of(targets_, indices[row], targets.row_size()),
                      targets.rows(static_cast<std::int64_t>(row), 1).data());
}

std::int64_t StoredTable::stored_bytes() const {
  return static_cast<std::int64_t>((cell_count_ + target_count_) * sizeof(float));
}

void StoredTable::fill(std::span<std::uint8_t> memory) {
  auto* const floats = reinterpret_cast<float*>(memory.data());
  std::ranges::copy(read_cells_, floats);
  std::ranges::copy(read_targets_, floats + cell_count_);
}

void StoredTable::attach(std::span<std::uint8_t> memory) {
  read_cells_ = {};
  read_targets_ = {};
  const std::span all(reinterpret_cast<const float*>(memory.data()), cell_count_ + target_count_);
  cells_ = all.first(cell_count_);
  targets_ = all.subspan(cell_count_);
}

}  // namespace trainer
