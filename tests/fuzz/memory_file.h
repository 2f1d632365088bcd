#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/system/files.h"
#include "tests/support/temporary_folder.h"

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

/// A folder with such files, for readers that take a folder.
class MemoryFolder {
 public:
  explicit MemoryFolder(const std::vector<std::string>& names);
  /// Replaces all that the file `names[which]` holds.
  void hold(std::size_t which, std::span<const std::uint8_t> bytes) { files_.at(which).hold(bytes); }
  std::string path() const { return folder_.path().string(); }

 private:
  std::vector<MemoryFile> files_;
  TemporaryFolder folder_;
};

}  // namespace trainer
