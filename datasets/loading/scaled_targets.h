#pragma once

#include <memory>
#include <span>

#include "datasets/dataset.h"
#include "datasets/transforms/normalised.h"

namespace trainer {

/// Samples whose targets are values, each channel of a target (its last axis) shifted and scaled to mean 0
/// and standard deviation 1.
class ScaledTargets final : public Dataset {
 public:
  explicit ScaledTargets(std::unique_ptr<Dataset> samples)
      : Dataset(samples->info()), samples_(std::move(samples)) {}
  /// Call before targets are read.
  void use(const ChannelStatistics& statistics) { statistics_ = statistics; }
  /// With the targets as they are.
  const Dataset& raw() const { return *samples_; }

  void read(std::span<const std::int64_t> indices, Tensor x) const override { samples_->read(indices, x); }
  void read_targets(std::span<const std::int64_t> indices, Tensor values) const override;
  std::int64_t length(std::int64_t index) const override { return samples_->length(index); }
  void read_positions(std::int64_t index, std::span<std::int32_t> positions) const override {
    samples_->read_positions(index, positions);
  }
  float weight(std::int64_t index) const override { return samples_->weight(index); }

 private:
  std::unique_ptr<Dataset> samples_;
  ChannelStatistics statistics_;
};

/// Mean and standard deviation of each channel of the targets, over all samples; the deviation of a channel
/// whose targets are equal is 1.
ChannelStatistics target_statistics(const Dataset& samples);

/// Values as they were before they were scaled: value times deviation plus mean, channel by channel. `to` may
/// be `values`.
void unscale(const ChannelStatistics& statistics, std::span<const float> values, std::span<float> to);

}  // namespace trainer
