#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/system/files.h"

namespace trainer {

/// A regular file without a disk, for readers that take a path.
class MemoryFile {
 public:
  MemoryFile();
  /// Replaces all it holds.
  void hold(std::span<const std::uint8_t> bytes);
  const std::string& path() const { return path_; }

 private:
  Descriptor descriptor_;
  std::string path_;
};

}  // namespace trainer
