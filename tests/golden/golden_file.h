#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/formats/safetensors.h"

namespace trainer {

/// The golden files of a kind, by name, which becomes part of their metadata.
std::vector<TensorFile> files_of_kind(const std::string& kind);

/// Null when there is none.
const NamedTensor* find(const TensorFile& file, const std::string& name);
/// The test fails when there is none.
const NamedTensor& tensor(const TensorFile& file, const std::string& name);

/// The shape of one sample in memory: (N, C, H, W) in the file gives (H, W, C).
Shape sample_of(const NamedTensor& batch);
/// A batch's numbers in the order of memory.
std::vector<float> in_memory_order(const NamedTensor& batch);

/// The numbers of a text of them, with spaces between; empty where there is no such text.
std::vector<std::int32_t> integers_of(const TensorFile& file, const std::string& key);
/// The classes that a file's samples have; empty where it has `values` instead.
std::vector<std::int32_t> labels_of(const TensorFile& file);
/// Of sequences with padding; empty where there is none.
inline std::vector<std::int32_t> lengths_of(const TensorFile& file) { return integers_of(file, "lengths"); }

}  // namespace trainer
