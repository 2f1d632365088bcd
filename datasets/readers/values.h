#pragma once

#include <memory>
#include <span>
#include <vector>

#include "datasets/dataset.h"

namespace trainer {

/// Files of samples that are read whole, their headers read and checked.
class ValueFiles {
 public:
  virtual ~ValueFiles() = default;
  /// Reads everything, at most once: `samples` (size, sample), and `targets` (size, target) if targets are
  /// values, else empty. Error(data) if a file is bad.
  virtual void read(std::span<float> samples, std::span<float> targets) = 0;
};

/// Files of samples that are read one by one, their headers read and checked. Several threads may read at the
/// same time. Error(data) if a file is bad.
class ValueRows {
 public:
  virtual ~ValueRows() = default;
  /// Writes the elements of one sample.
  virtual void read_sample(std::int64_t index, std::span<float> elements) const = 0;
  /// Writes the elements of one target. Only if targets are values.
  virtual void read_target(std::int64_t index, std::span<float> elements) const = 0;
};

/// A split of float samples, without the samples.
struct ValueSplit {
  DatasetInfo info;
  std::vector<std::int32_t> labels;   ///< (size, labels per sample); empty if targets are values
  std::vector<std::int32_t> lengths;  ///< (size), positions; empty if no sample is padded
  std::vector<float> weights{};       ///< (size); empty unless info.has_weights
};

/// Float samples whose labels, lengths and weights lie in memory.
class ValueDataset : public Dataset {
 public:
  std::int64_t length(std::int64_t index) const final {
    return lengths_.empty() ? Dataset::length(index) : lengths_.at(index);
  }
  float weight(std::int64_t index) const final { return weights_.empty() ? 1 : weights_.at(index); }
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const final;
  void read_targets(std::span<const std::int64_t> indices, Tensor values) const final;

 protected:
  explicit ValueDataset(ValueSplit split)
      : Dataset(std::move(split.info)),
        labels_(std::move(split.labels)),
        lengths_(std::move(split.lengths)),
        weights_(std::move(split.weights)) {}
  virtual void read_target_values(std::span<const std::int64_t> indices, Tensor targets) const = 0;

 private:
  const std::vector<std::int32_t> labels_, lengths_;
  const std::vector<float> weights_;
};

/// Float samples that are kept in memory.
class StoredValues final : public ValueDataset {
 public:
  StoredValues(ValueSplit split, std::unique_ptr<ValueFiles> files)
      : ValueDataset(std::move(split)), files_(std::move(files)) {}

  void read(std::span<const std::int64_t> indices, Tensor x) const override;
  /// The samples, then their targets.
  std::int64_t stored_bytes() const override;
  void fill(std::span<std::uint8_t> memory) override;
  void attach(std::span<std::uint8_t> memory) override;

 private:
  void read_target_values(std::span<const std::int64_t> indices, Tensor targets) const override;
  std::int64_t sample_floats() const { return sample().with_front(size()).size(); }
  std::int64_t target_floats() const { return classes() > 0 ? 0 : target().with_front(size()).size(); }

  std::unique_ptr<ValueFiles> files_;
  std::span<const float> samples_, targets_;
};

/// Float samples that are read from their files each time.
class StreamedValues final : public ValueDataset {
 public:
  /// `split.info.is_streamed` is true.
  StreamedValues(ValueSplit split, std::unique_ptr<ValueRows> rows)
      : ValueDataset(std::move(split)), rows_(std::move(rows)) {}

  void read(std::span<const std::int64_t> indices, Tensor x) const override;

 private:
  void read_target_values(std::span<const std::int64_t> indices, Tensor targets) const override;

  std::unique_ptr<ValueRows> rows_;
};

}  // namespace trainer
