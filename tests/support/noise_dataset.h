#pragma once

#include "datasets/dataset.h"
#include "engine/core/random.h"

namespace trainer {

/// Samples of noise around a pattern of their class: something a network can learn, at once and without
/// files.
class NoiseDataset final : public Dataset {
 public:
  NoiseDataset(std::int64_t size, const Shape& sample, int classes, std::uint64_t seed)
      : size_(size), sample_(sample), classes_(classes), seed_(seed) {}

  std::int64_t size() const override { return size_; }
  Shape sample() const override { return sample_; }
  int classes() const override { return classes_; }
  std::int32_t label(std::int64_t index) const override {
    return static_cast<std::int32_t>(
        RandomStream(seed_, "label")
            .below(static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(classes_)));
  }
  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    const RandomStream noise(seed_, "noise");
    const auto size = static_cast<std::uint64_t>(sample_.size());
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const RandomStream pattern(static_cast<std::uint64_t>(label(indices[row])), "pattern");
      float* numbers = x.data() + row * size;
      for (std::uint64_t i = 0; i < size; ++i)
        numbers[i] = 0.5f * pattern.uniform(i) +
                     0.5f * noise.uniform(static_cast<std::uint64_t>(indices[row]) * size + i);
    }
  }

 private:
  std::int64_t size_;
  Shape sample_;
  int classes_;
  std::uint64_t seed_;
};

}  // namespace trainer
