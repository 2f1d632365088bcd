#pragma once

#include <algorithm>
#include <array>
#include <numeric>

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

/// Rows that hold three documents each: sequences of 1 to 4 tokens, as documents() has them one by one.
class PackedTokens final : public Dataset {
 public:
  PackedTokens(std::int64_t size, int vocabulary, std::uint64_t seed)
      : Dataset({.size = size,
                 .sample = {kLength},
                 .classes = vocabulary,
                 .positions = kLength,
                 .vocabulary = vocabulary,
                 .has_lengths = true,
                 .is_packed = true}),
        documents_(documents(size, vocabulary, seed)) {}
  /// The same documents, each in a row of its own.
  static TokenDataset documents(std::int64_t size, int vocabulary, std::uint64_t seed) {
    return {3 * size, kLength, vocabulary, seed, 4};
  }

  std::int64_t length(std::int64_t index) const override {
    std::int64_t length = 0;
    for (std::int64_t document = 3 * index; document < 3 * index + 3; ++document)
      length += documents_.length(document);
    return length;
  }
  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    std::array<float, kLength> document{};
    pack(indices, x.span(), document, [&](std::int64_t index) {
      documents_.read({&index, 1}, {document.data(), Shape{1, kLength}});
    });
  }
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    std::array<std::int32_t, kLength> document{};
    pack(indices, labels, document, [&](std::int64_t index) {
      documents_.read_labels({&index, 1}, document);
    });
  }
  void read_positions(std::int64_t index, std::span<std::int32_t> positions) const override {
    std::array<std::int32_t, kLength> document{};
    std::iota(document.begin(), document.end(), 0);
    pack({&index, 1}, positions, document, [](std::int64_t) {});
  }

 private:
  static constexpr std::int64_t kLength = 12;

  template <class Value, class Read>
  void pack(std::span<const std::int64_t> indices, std::span<Value> to,
            const std::array<Value, kLength>& document, Read read) const {
    std::ranges::fill(to, Value{});
    for (const std::int64_t index : indices) {
      auto place = to.begin();
      for (std::int64_t number = 3 * index; number < 3 * index + 3; ++number) {
        read(number);
        place = std::copy_n(document.begin(), documents_.length(number), place);
      }
      to = to.subspan(kLength);
    }
  }

  TokenDataset documents_;
};

/// Sequences of noise of several lengths, in which some symbols are heard one after the other: what ctc can
/// learn, at once and without files.
class SpokenDataset final : public Dataset {
 public:
  /// Sequences have 6 to 8 positions of their own, and are padded to `positions`.
  SpokenDataset(std::int64_t size, std::int64_t positions, std::uint64_t seed)
      : Dataset({.size = size, .sample = {positions, kFeatures}, .target = {2}, .has_lengths = true}),
        positions_(positions),
        seed_(seed) {}

  std::int64_t length(std::int64_t index) const override { return 6 + index % 3; }
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

  std::int64_t positions_;
  std::uint64_t seed_;
};

}  // namespace trainer
