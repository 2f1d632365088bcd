#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/readers/byte_reader.h"

namespace trainer {

/// An IDX file of unsigned bytes (yann.lecun.com's format): its header read and held against the file's size,
/// its numbers not yet read.
class IdxFile {
 public:
  enum class Content {
    labels,  ///< (count)
    images   ///< (count, height, width) or (count, channels, height, width)
  };
  IdxFile(const std::string& path, Content content);

  std::int64_t count() const { return extents_.front(); }
  /// All extents, the count first.
  const std::vector<std::int64_t>& extents() const { return extents_; }
  std::string fingerprint() const { return bytes_.fingerprint(); }
  /// Reads all numbers; call once. `numbers` has room for them.
  void read(std::span<std::uint8_t> numbers);
  std::vector<std::uint8_t> numbers();
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const {
    bytes_.fail(what, expected);
  }

 private:
  ByteReader bytes_;
  std::vector<std::int64_t> extents_;
  std::int64_t total_ = 1;
};

}  // namespace trainer
