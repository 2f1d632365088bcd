#pragma once

#include "datasets/dataset.h"
#include "engine/core/random.h"

namespace trainer {

/// Samples of noise around a pattern of their class: something a network can learn, at once and without
/// files.
class NoiseDataset final : public Dataset {
 public:
  NoiseDataset(std::int64_t size, const Shape& sample, int classes, std::uint64_t seed)
      : Dataset({.size = size, .sample = sample, .classes = classes}), seed_(seed) {}

  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    const RandomStream random(seed_, "label");
    for (std::size_t row = 0; row < indices.size(); ++row)
      labels[row] = static_cast<std::int32_t>(
          random.below(static_cast<std::uint64_t>(indices[row]), static_cast<std::uint64_t>(classes())));
  }
  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    const RandomStream noise(seed_, "noise");
    const auto size = static_cast<std::uint64_t>(sample().size());
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const RandomStream pattern(static_cast<std::uint64_t>(label(indices[row])), "pattern");
      float* elements = x.data() + row * size;
      for (std::uint64_t i = 0; i < size; ++i)
        elements[i] = 0.5f * pattern.uniform(i) +
                      0.5f * noise.uniform(static_cast<std::uint64_t>(indices[row]) * size + i);
    }
  }

 private:
  std::uint64_t seed_;
};

}  // namespace trainer
