#include "datasets/readers/numbers.h"

#include <algorithm>
#include <stdexcept>

namespace trainer {
namespace {

void copy_rows(std::span<const float> all, std::span<const std::int64_t> indices, Tensor rows) {
  const auto size = static_cast<std::size_t>(rows.row_size());
  for (std::size_t row = 0; row < indices.size(); ++row) {
    const auto first = static_cast<std::size_t>(indices[row]) * size;
    if (indices[row] < 0 || first + size > all.size()) throw std::logic_error("a sample that is not there");
    std::copy_n(all.data() + first, size, rows.data() + row * size);
  }
}

}  // namespace

std::int32_t NumberDataset::label(std::int64_t index) const {
  if (form_.positions > 0) throw std::logic_error("a sample has a label for each position");
  return form_.labels.at(static_cast<std::size_t>(index));
}

void NumberDataset::read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(1, form_.positions));
  for (std::size_t row = 0; row < indices.size(); ++row) {
    const auto first = static_cast<std::size_t>(indices[row]) * count;
    if (indices[row] < 0 || first + count > form_.labels.size())
      throw std::logic_error("a sample that is not there");
    std::copy_n(form_.labels.data() + first, count, labels.data() + row * count);
  }
}

void NumberDataset::read_targets(std::span<const std::int64_t> indices, Tensor values) const {
  if (form_.classes > 0) return Dataset::read_targets(indices, values);
  read_numbers(indices, values);
}

void Numbers::read(std::span<const std::int64_t> indices, Tensor x) const { copy_rows(samples_, indices, x); }

void Numbers::read_numbers(std::span<const std::int64_t> indices, Tensor targets) const {
  copy_rows(targets_, indices, targets);
}

std::int64_t Numbers::stored_bytes() const {
  return (sample_floats() + target_floats()) * static_cast<std::int64_t>(sizeof(float));
}

void Numbers::fill(std::span<std::uint8_t> memory) {
  auto* const floats = reinterpret_cast<float*>(memory.data());
  files_->read({floats, static_cast<std::size_t>(sample_floats())},
               {floats + sample_floats(), static_cast<std::size_t>(target_floats())});
}

void Numbers::attach(std::span<std::uint8_t> memory) {
  files_.reset();
  const auto* const floats = reinterpret_cast<const float*>(memory.data());
  samples_ = {floats, static_cast<std::size_t>(sample_floats())};
  targets_ = {floats + sample_floats(), static_cast<std::size_t>(target_floats())};
}

void StreamedNumbers::read(std::span<const std::int64_t> indices, Tensor x) const {
  for (std::size_t row = 0; row < indices.size(); ++row)
    rows_->read_sample(indices[row], x.rows(static_cast<std::int64_t>(row), 1).span());
}

void StreamedNumbers::read_numbers(std::span<const std::int64_t> indices, Tensor targets) const {
  for (std::size_t row = 0; row < indices.size(); ++row)
    rows_->read_target(indices[row], targets.rows(static_cast<std::int64_t>(row), 1).span());
}

}  // namespace trainer
