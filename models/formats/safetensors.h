#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/core/tensor.h"

namespace trainer {

/// A tensor of a file.
struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

/// The contents of a safetensors file.
struct TensorFile {
  std::vector<NamedTensor> tensors;  ///< in the order of their bytes
  std::map<std::string, std::string> metadata;
};

/// A tensor whose elements are no floats, such as I64 or BOOL.
struct OtherTensor {
  std::string name;
  Shape shape;
  std::string type;
};

/// Reads a safetensors file of F32, F16, BF16 and F64 tensors, as float, without PyTorch's batch counters
/// (num_batches_tracked). `others`: gets the tensors of other types; without it they are an error. The file
/// is not trusted: Error(weights) if it breaks the format, before memory is allocated for any tensor.
TensorFile read_safetensors(const std::filesystem::path& path, std::vector<OtherTensor>* others = nullptr);

/// The name and shape of a tensor to write.
struct TensorEntry {
  std::string name;
  Shape shape;
  bool is_counter = false;  ///< of I64 elements, else of F32; readers expect these first
};
/// The bytes of a file of these tensors before the first value; the values follow in this order, without a
/// gap. Equal arguments give equal bytes.
std::string safetensors_head(std::span<const TensorEntry> tensors,
                             const std::map<std::string, std::string>& metadata = {});

}  // namespace trainer
