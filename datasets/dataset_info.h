#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "datasets/tokenizer.h"
#include "engine/core/shape.h"

namespace trainer {

/// What is known of a split before its samples are read. A dataset that is made from another one copies the
/// other's info and changes what differs.
struct DatasetInfo {
  std::int64_t size = 0;  ///< samples
  Shape sample;           ///< of one sample in memory; images are (H, W, C), token sequences (positions)
  int classes = 0;        ///< labels are in [0, classes); 0: targets are values
  /// Of the labels, or of the target values; empty if they have no names.
  std::vector<std::string> class_names = {};
  Shape target = {};           ///< of one sample's target, if targets are values
  std::int64_t positions = 0;  ///< labels of one sample, one per position; 0: one for the whole sample
  int vocabulary = 0;          ///< distinct tokens, if samples are token sequences; else 0
  /// Null unless the tokens come from a text. The dataset that was read from the text owns it.
  const Tokenizer* tokenizer = nullptr;
  bool has_lengths = false;  ///< samples are sequences of several lengths, padded at their end
  /// Samples are several documents in one row (packed sequences): Dataset::read_positions. They have lengths.
  bool is_packed = false;
  bool has_weights = false;  ///< samples differ in their weight in the loss
  bool is_streamed = false;  ///< each read decodes files
  /// For each channel: false if its elements are 0 or 1 and normalising by the samples leaves them as they
  /// are. Empty: it scales all.
  std::vector<bool> scaled_channels = {};

  /// `$classes`: the classes, or the named values of a target that has several; else 0.
  int outputs() const {
    if (classes > 0 || class_names.size() < 2) return classes;
    return static_cast<int>(class_names.size());
  }
  std::int64_t labels_per_sample() const { return std::max<std::int64_t>(1, positions); }
};

}  // namespace trainer
