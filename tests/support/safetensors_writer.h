#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/little_endian.h"
#include "engine/system/files.h"
#include "models/formats/safetensors.h"

namespace trainer {

/// A tensor to write; the caller owns name and values.
struct NamedView {
  std::string_view name;
  ConstTensor values;
};

/// Writes a safetensors file of these tensors.
inline void write_safetensors(const std::filesystem::path& path, std::span<const NamedView> tensors,
                              const std::map<std::string, std::string>& metadata = {}) {
  std::vector<TensorEntry> entries;
  for (const NamedView& tensor : tensors)
    entries.push_back({std::string(tensor.name), tensor.values.shape()});
  const std::string head = safetensors_head(entries, metadata);
  OutputFile file(path);
  file.write(std::as_bytes(std::span(head)));
  for (const NamedView& tensor : tensors) file.write(LittleEndian(tensor.values.span()).bytes());
  file.commit();
}

}  // namespace trainer
