#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/core/tensor.h"

namespace trainer {

/// A tensor as a file gives it.
struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

/// A tensor as it is handed to a file; somebody else owns name and numbers.
struct NamedView {
  std::string_view name;
  ConstTensor values;
};

/// What a safetensors file holds.
struct TensorFile {
  std::vector<NamedTensor> tensors;  ///< in the order of their bytes
  std::map<std::string, std::string> metadata;
};

/// Reads a safetensors file of F32 tensors; PyTorch's counters of batches (num_batches_tracked) are left out.
/// The file is not trusted: whatever breaks the format is Error(weights) naming it, before memory is taken
/// for any tensor.
TensorFile read_safetensors(const std::filesystem::path& path);

/// A tensor of a file that is written piece by piece.
struct TensorEntry {
  std::string name;
  Shape shape;
};
/// How a file of these tensors begins. Their bytes follow in this order, without a gap. Equal arguments give
/// equal bytes.
std::string safetensors_head(std::span<const TensorEntry> tensors,
                             const std::map<std::string, std::string>& metadata = {});

/// Writes the tensors in the order given; the file appears whole or not at all. Equal arguments give equal
/// bytes.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace trainer
