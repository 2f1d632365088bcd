#pragma once

#include <memory>
#include <utility>

#include "datasets/dataset.h"

namespace trainer {

/// Samples that are their own targets, without augmentation: for autoencoders.
class InputTargets final : public Dataset {
 public:
  explicit InputTargets(std::unique_ptr<Dataset> samples)
      : Dataset(with_own_targets(samples->info())), samples_(std::move(samples)) {}

  void read(std::span<const std::int64_t> indices, Tensor x) const override { samples_->read(indices, x); }
  void read_targets(std::span<const std::int64_t> indices, Tensor values) const override {
    samples_->read(indices, values);
  }
  std::int64_t length(std::int64_t index) const override { return samples_->length(index); }
  void read_positions(std::int64_t index, std::span<std::int32_t> positions) const override {
    samples_->read_positions(index, positions);
  }
  float weight(std::int64_t index) const override { return samples_->weight(index); }

 private:
  static DatasetInfo with_own_targets(DatasetInfo info) {
    info.classes = 0;
    info.positions = 0;
    info.target = info.sample;
    return info;
  }

  std::unique_ptr<Dataset> samples_;
};

}  // namespace trainer
