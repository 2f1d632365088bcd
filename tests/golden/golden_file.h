#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/formats/safetensors.h"

namespace trainer {

/// The golden cases of a kind, sorted by name; `metadata` holds the name, too.
std::vector<TensorFile> golden_cases(const std::string& kind);

/// Null when there is none.
const NamedTensor* find(const TensorFile& golden, const std::string& name);
/// The test fails when there is none.
const NamedTensor& tensor(const TensorFile& golden, const std::string& name);

/// The shape of one sample in memory: (N, C, H, W) in the file gives (H, W, C).
Shape sample_of(const NamedTensor& batch);
/// The values of a batch in the order of memory.
std::vector<float> in_memory_order(const NamedTensor& batch);

/// The integers of an entry of the metadata, separated by spaces; empty if there is no such entry.
std::vector<std::int32_t> integers_of(const TensorFile& golden, const std::string& key);
/// The classes of the samples; empty if the case has `values` instead.
std::vector<std::int32_t> labels_of(const TensorFile& golden);
/// The lengths of the sequences; empty if there is no padding.
inline std::vector<std::int32_t> lengths_of(const TensorFile& golden) {
  return integers_of(golden, "lengths");
}

}  // namespace trainer
