#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/readers/byte_stream.h"
#include "engine/system/files.h"

namespace trainer {

/// A zip archive as numpy.savez writes it: stored or deflated entries, also with 64-bit sizes. Every claim of
/// the file is checked before it is used.
class ZipFile {
 public:
  explicit ZipFile(const std::string& path);

  struct Entry {
    std::string name;
    std::uint32_t method = 0, checksum = 0;
    std::uint64_t packed = 0, size = 0, offset = 0;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  /// The names of its arrays, without ".npy".
  std::vector<std::string> arrays() const;
  const std::string& path() const { return path_; }
  /// Opens an entry; the archive must outlive it. Error(data) if there is no entry of that name.
  std::unique_ptr<ByteStream> open(const std::string& name) const;
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const;

 private:
  std::string path_;
  InputFile file_;
  std::vector<Entry> entries_;
};

}  // namespace trainer
