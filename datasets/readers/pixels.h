#pragma once

#include <vector>

#include "datasets/dataset.h"

namespace trainer {

/// Labelled images of unsigned bytes, kept in memory as they are; they become numbers when they are read.
class Pixels final : public Dataset {
 public:
  /// `pixels` lie as (count, H, W, C). They may be empty where only sizes and labels are asked for.
  Pixels(const Shape& sample, int classes, std::vector<std::uint8_t> pixels,
         std::vector<std::uint8_t> labels);

  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  Shape sample() const override { return sample_; }
  int classes() const override { return classes_; }
  void read(std::span<const std::int64_t> indices, Tensor x) const override;
  std::int32_t label(std::int64_t index) const override {
    return labels_.at(static_cast<std::size_t>(index));
  }

 private:
  Shape sample_;
  int classes_;
  std::vector<std::uint8_t> pixels_, labels_;
};

/// One image from (C, H, W) as files have it to (H, W, C).
void channels_last(std::int64_t channels, std::int64_t area, const std::uint8_t* in, std::uint8_t* out);

}  // namespace trainer
