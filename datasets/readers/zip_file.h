#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/readers/byte_stream.h"
#include "engine/system/files.h"

namespace trainer {

/// A zip archive, as numpy's savez writes it (plain or deflated, also with 64-bit sizes). Everything it says
/// of itself is checked before it is believed.
class ZipFile {
 public:
  explicit ZipFile(const std::string& path);

  struct Entry {
    std::string name;
    std::uint32_t method = 0, checksum = 0;
    std::uint64_t packed = 0, size = 0, offset = 0;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  const std::string& path() const { return path_; }
  /// The content of an entry; Error(data) when there is none of that name. The file must outlive it.
  std::unique_ptr<ByteStream> open(const std::string& name) const;
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const;

 private:
  std::string path_;
  InputFile file_;
  std::vector<Entry> entries_;
};

}  // namespace trainer
