#pragma once

#include "datasets/dataset.h"
#include "engine/core/random.h"

namespace trainer {

/// Sequences of tokens in which each follows from the one before, but for some noise: something a network can
/// learn, at once and without files.
class TokenDataset final : public Dataset {
 public:
  /// `longest`: sequences have 1 to so many tokens and are padded to `length`; 0: all have `length`.
  TokenDataset(std::int64_t size, std::int64_t length, int vocabulary, std::uint64_t seed,
               std::int64_t longest = 0)
      : Dataset({.size = size,
                 .sample = {length},
                 .classes = vocabulary,
                 .positions = length,
                 .vocabulary = vocabulary,
                 .has_lengths = longest > 0}),
        length_(length),
        seed_(seed),
        longest_(longest) {}

  std::int64_t length(std::int64_t index) const override {
    return longest_ > 0 ? 1 + 5 * index % longest_ : length_;
  }
  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    for (std::size_t row = 0; row < indices.size(); ++row)
      for (std::int64_t t = 0; t < length_; ++t)
        x[static_cast<std::int64_t>(row) * length_ + t] = static_cast<float>(token(indices[row], t));
  }
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    for (std::size_t row = 0; row < indices.size(); ++row)
      for (std::int64_t t = 0; t < length_; ++t)
        labels[row * static_cast<std::size_t>(length_) + static_cast<std::size_t>(t)] =
            token(indices[row], t + 1);
  }

 private:
  std::int32_t token(std::int64_t sample, std::int64_t t) const {
    const auto place = static_cast<std::uint64_t>(sample * 1000 + t);
    const std::uint64_t noise = RandomStream(seed_, "tokens").below(place, 4) == 0 ? 1 : 0;
    return static_cast<std::int32_t>((static_cast<std::uint64_t>(sample + 3 * t) + noise) %
                                     static_cast<std::uint64_t>(info().vocabulary));
  }

  std::int64_t length_;
  std::uint64_t seed_;
  std::int64_t longest_;
};

}  // namespace trainer
