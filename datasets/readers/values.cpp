#include "datasets/readers/values.h"

#include <algorithm>
#include <stdexcept>

namespace trainer {
namespace {

void copy_rows(std::span<const float> all, std::span<const std::int64_t> indices, Tensor rows) {
  const std::size_t size = rows.row_size();
  for (std::size_t row = 0; row < indices.size(); ++row) {
    const std::size_t first = indices[row] * size;
    if (indices[row] < 0 || first + size > all.size()) throw std::logic_error("a sample index out of range");
    std::copy_n(all.data() + first, size, rows.data() + row * size);
  }
}

}  // namespace

void ValueDataset::read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const {
  const std::size_t count = info().labels_per_sample();
  for (std::size_t row = 0; row < indices.size(); ++row) {
    const std::size_t first = indices[row] * count;
    if (indices[row] < 0 || first + count > labels_.size())
      throw std::logic_error("a sample index out of range");
    std::copy_n(labels_.data() + first, count, labels.data() + row * count);
  }
}

void ValueDataset::read_targets(std::span<const std::int64_t> indices, Tensor values) const {
  if (classes() > 0) return Dataset::read_targets(indices, values);
  read_target_values(indices, values);
}

void StoredValues::read(std::span<const std::int64_t> indices, Tensor x) const {
  copy_rows(samples_, indices, x);
}

void StoredValues::read_target_values(std::span<const std::int64_t> indices, Tensor targets) const {
  copy_rows(targets_, indices, targets);
}

std::int64_t StoredValues::stored_bytes() const {
  return (sample_floats() + target_floats()) * static_cast<std::int64_t>(sizeof(float));
}

void StoredValues::fill(std::span<std::uint8_t> memory) {
  auto* const floats = reinterpret_cast<float*>(memory.data());
  const std::span all(floats, memory.size() / sizeof(float));
  files_->read(all.first(sample_floats()), all.subspan(sample_floats(), target_floats()));
}

void StoredValues::attach(std::span<std::uint8_t> memory) {
  files_.reset();
  const auto* const floats = reinterpret_cast<const float*>(memory.data());
  const std::span all(floats, memory.size() / sizeof(float));
  samples_ = all.first(sample_floats());
  targets_ = all.subspan(sample_floats(), target_floats());
}

void StreamedValues::read(std::span<const std::int64_t> indices, Tensor x) const {
  for (std::size_t row = 0; row < indices.size(); ++row)
    rows_->read_sample(indices[row], x.rows(static_cast<std::int64_t>(row), 1).span());
}

void StreamedValues::read_target_values(std::span<const std::int64_t> indices, Tensor targets) const {
  for (std::size_t row = 0; row < indices.size(); ++row)
    rows_->read_target(indices[row], targets.rows(static_cast<std::int64_t>(row), 1).span());
}

}  // namespace trainer
