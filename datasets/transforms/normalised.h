#pragma once

#include <memory>
#include <vector>

#include "datasets/dataset.h"

namespace trainer {

/// Extent of the last axis; 1 for single numbers.
std::int64_t channel_count(const Shape& sample);

/// Mean and standard deviation of each channel (the last axis) over all samples, or 1,024 of a streamed set,
/// without padding.
struct ChannelStatistics {
  std::vector<float> mean, deviation;
};
ChannelStatistics channel_statistics(const Dataset& samples);

/// Samples with each channel shifted and scaled to mean 0 and deviation 1; a constant channel becomes 0.
class Normalised final : public Dataset {
 public:
  explicit Normalised(std::unique_ptr<Dataset> raw) : raw_(std::move(raw)) {}
  /// To be called before samples are read.
  void use(const ChannelStatistics& statistics);
  const Dataset& raw() const { return *raw_; }
  /// Samples as read() gives them, from those of raw(); and the other way, up to rounding.
  void normalise(Tensor samples) const;
  void take_back(Tensor samples) const;

  std::int64_t size() const override { return raw_->size(); }
  Shape sample() const override { return raw_->sample(); }
  int classes() const override { return raw_->classes(); }
  void read(std::span<const std::int64_t> indices, Tensor x) const override;
  std::int32_t label(std::int64_t index) const override { return raw_->label(index); }
  bool is_streamed() const override { return raw_->is_streamed(); }
  std::int64_t positions() const override { return raw_->positions(); }
  bool has_lengths() const override { return raw_->has_lengths(); }
  std::int64_t length(std::int64_t index) const override { return raw_->length(index); }
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    raw_->read_labels(indices, labels);
  }
  Shape target() const override { return raw_->target(); }
  void read_targets(std::span<const std::int64_t> indices, Tensor values) const override {
    raw_->read_targets(indices, values);
  }

 private:
  std::unique_ptr<Dataset> raw_;
  std::int64_t rows_ = 1;  ///< of a sample
  // Of a row: each channel's, over and over.
  std::vector<float> scale_, shift_, deviation_, mean_;
};

}  // namespace trainer
