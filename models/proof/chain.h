#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/sha256.h"

namespace trainer {

/// In the directory of a run with train.chain: a line for the initial weights, then one for each step.
inline constexpr const char* kChainFile = "chain.jsonl";

/// Odd factors of a place in a FingerprintSums, so that no change of an item is lost.
struct PlaceFactors {
  std::uint64_t first = 1, second = 1;
};
PlaceFactors factors_of(std::size_t place);

/// A linear hash of several items, such as the tensors of a model: two sums modulo 2^64 of the items' own
/// fingerprints, each times odd factors of the item's place. If one item alone differs between two of them,
/// their differences name it (differing_item()).
struct FingerprintSums {
  std::uint64_t first = 0, second = 0;
  bool operator==(const FingerprintSums&) const = default;

  /// Adds the fingerprint of the item at `place`, or of a part of it.
  void add(std::size_t place, std::uint64_t item) { add(factors_of(place), item); }
  /// The same with the factors of the place.
  void add(const PlaceFactors& factors, std::uint64_t item) {
    first += factors.first * item;
    second += factors.second * item;
  }
  FingerprintSums& operator+=(const FingerprintSums& other);
};

/// The place of the one item in which two fingerprints of `items` items differ; nothing if they are equal or
/// differ in several.
std::optional<std::size_t> differing_item(const FingerprintSums& one, const FingerprintSums& other,
                                          std::size_t items);

/// A step in the chain. Step 0 has only the initial weights.
struct ChainRecord {
  std::int64_t step = 0;      ///< counted from 1
  FingerprintSums batch;      ///< ids, input and targets of each sample, after augmentation
  FingerprintSums gradients;  ///< of each parameter, summed over ranks, before clipping
  FingerprintSums weights;    ///< of each parameter, then of each state of the model, after the update
  Sha256Digest value{};       ///< SHA-256 of the value before, the step and the fingerprints

  /// Sets `value`; `before`: that of the step before, empty for the first record.
  void link(const std::optional<Sha256Digest>& before);
};

/// Appends a line of chain.jsonl, without the newline.
void append_line(std::string& text, const ChainRecord& record);
/// The reverse; nothing if `line` is not what append_line() wrote.
std::optional<ChainRecord> parse_chain_record(std::string_view line);

/// The chain of a run.
struct Chain {
  std::vector<ChainRecord> records;  ///< of consecutive steps, the first one of the initial weights

  /// The record of a step; null: there is none.
  const ChainRecord* at(std::int64_t step) const;
  std::int64_t last_step() const { return records.back().step; }
};

/// Reads chain.jsonl of a run directory. Error(usage) if there is none; Error(weights) if it is damaged or a
/// value does not follow from the one before.
Chain read_chain(const std::filesystem::path& run);

/// The first step at which two chains part, by binary search over their values; nothing if none of the steps
/// that both have does.
std::optional<std::int64_t> first_difference(const Chain& one, const Chain& other);

}  // namespace trainer
