#pragma once

#include <memory>
#include <utility>

#include "datasets/dataset.h"

namespace trainer {

/// Samples that a model is to give back: each one's target is its own numbers, without random changes.
class InputTargets final : public Dataset {
 public:
  explicit InputTargets(std::unique_ptr<Dataset> samples) : samples_(std::move(samples)) {}

  std::int64_t size() const override { return samples_->size(); }
  Shape sample() const override { return samples_->sample(); }
  int classes() const override { return 0; }
  void read(std::span<const std::int64_t> indices, Tensor x) const override { samples_->read(indices, x); }
  std::int32_t label(std::int64_t index) const override { return samples_->label(index); }
  Shape target() const override { return samples_->sample(); }
  void read_targets(std::span<const std::int64_t> indices, Tensor values) const override {
    samples_->read(indices, values);
  }
  bool has_lengths() const override { return samples_->has_lengths(); }
  std::int64_t length(std::int64_t index) const override { return samples_->length(index); }
  bool is_streamed() const override { return samples_->is_streamed(); }

 private:
  std::unique_ptr<Dataset> samples_;
};

}  // namespace trainer
