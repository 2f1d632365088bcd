#pragma once

#include <algorithm>

#include "datasets/dataset.h"
#include "engine/core/random.h"

namespace trainer {

/// Sequences of noise of several lengths, in which some symbols are heard one after the other: what ctc can
/// learn, at once and without files.
class SpokenDataset final : public Dataset {
 public:
  /// Sequences have 6 to 8 positions of their own, and are padded to `positions`.
  SpokenDataset(std::int64_t size, std::int64_t positions, std::uint64_t seed)
      : size_(size), positions_(positions), seed_(seed) {}

  std::int64_t size() const override { return size_; }
  Shape sample() const override { return {positions_, kFeatures}; }
  int classes() const override { return 0; }
  Shape target() const override { return {2}; }
  bool has_lengths() const override { return true; }
  std::int64_t length(std::int64_t index) const override { return 6 + index % 3; }
  std::int32_t label(std::int64_t) const override { throw std::logic_error("targets are numbers"); }
  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    const RandomStream noise(seed_, "noise");
    for (std::size_t row = 0; row < indices.size(); ++row)
      for (std::int64_t t = 0; t < positions_; ++t)
        for (std::int64_t k = 0; k < kFeatures; ++k) {
          const std::int64_t index = indices[row];
          const bool is_heard = symbol(index, t < 3 ? 0 : 1) == k;
          // No layer may read padding.
          x[(static_cast<std::int64_t>(row) * positions_ + t) * kFeatures + k] =
              t < length(index)
                  ? noise.uniform(static_cast<std::uint64_t>((index * 50 + t) * kFeatures + k)) +
                        (is_heard ? 1.0f : 0.0f)
                  : 100.0f;
        }
  }
  void read_targets(std::span<const std::int64_t> indices, Tensor values) const override {
    for (std::size_t row = 0; row < indices.size(); ++row)
      for (std::int64_t k = 0; k < 2; ++k)
        values[static_cast<std::int64_t>(row) * 2 + k] = static_cast<float>(1 + symbol(indices[row], k));
  }

 private:
  static constexpr std::int64_t kFeatures = 4;

  /// From 0 to 3; the two of a sample differ.
  std::int64_t symbol(std::int64_t index, std::int64_t which) const {
    const auto first =
        static_cast<std::int64_t>(RandomStream(seed_, "symbols").below(static_cast<std::uint64_t>(index), 4));
    return (first + which * (1 + index % 3)) % kFeatures;
  }

  std::int64_t size_, positions_;
  std::uint64_t seed_;
};

}  // namespace trainer
