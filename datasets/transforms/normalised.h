#pragma once

#include <memory>
#include <vector>

#include "datasets/dataset.h"

namespace trainer {

/// Extent of the last axis; 1 for scalars.
std::int64_t channel_count(const Shape& sample);

/// Mean and standard deviation of each channel (the last axis).
struct ChannelStatistics {
  std::vector<float> mean, deviation;

  /// 1 / deviation; 0 for a constant channel.
  float scale(std::size_t channel) const;
};
/// Over all samples, padding left out; over 1,024 samples if the dataset is streamed. 0 and 1 for channels
/// that are not scaled.
ChannelStatistics channel_statistics(const Dataset& samples);

/// Samples with each channel shifted and scaled to mean 0 and standard deviation 1; a constant channel
/// becomes 0.
class Normalised final : public Dataset {
 public:
  explicit Normalised(std::unique_ptr<Dataset> raw) : Dataset(raw->info()), raw_(std::move(raw)) {}
  /// Call before samples are read.
  void use(const ChannelStatistics& statistics);
  const Dataset& raw() const { return *raw_; }
  /// Of each channel: normalise() gives scale x + shift. Empty before use().
  std::span<const float> scale() const { return of_channels(scale_); }
  std::span<const float> shift() const { return of_channels(shift_); }
  /// Shifts and scales samples of raw() in place, (samples, sample).
  void normalise(Tensor samples) const;
  /// The inverse of normalise(), up to rounding.
  void denormalise(Tensor samples) const;

  void read(std::span<const std::int64_t> indices, Tensor x) const override;
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    raw_->read_labels(indices, labels);
  }
  void read_targets(std::span<const std::int64_t> indices, Tensor values) const override {
    raw_->read_targets(indices, values);
  }
  std::int64_t length(std::int64_t index) const override { return raw_->length(index); }
  void read_positions(std::int64_t index, std::span<std::int32_t> positions) const override {
    raw_->read_positions(index, positions);
  }
  float weight(std::int64_t index) const override { return raw_->weight(index); }

 private:
  std::span<const float> of_channels(std::span<const float> row) const {
    return row.empty() ? row : row.first(static_cast<std::size_t>(channel_count(sample())));
  }

  std::unique_ptr<Dataset> raw_;
  std::int64_t rows_ = 1;  ///< of a sample
  // One value for each element of a sample's row: the channels' values, repeated.
  std::vector<float> scale_, shift_, deviation_, mean_;
};

}  // namespace trainer
