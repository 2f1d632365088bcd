#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/readers/byte_reader.h"

namespace trainer {

/// An IDX file of unsigned bytes (format of LeCun's MNIST files). The constructor reads the header and checks
/// the file's size against it; elements are read later.
class IdxFile {
 public:
  enum class Content {
    labels,  ///< (count)
    images   ///< (count, height, width) or (count, channels, height, width)
  };
  IdxFile(const std::string& path, Content content);

  std::int64_t count() const { return extents_.front(); }
  /// All extents; the first is count().
  const std::vector<std::int64_t>& extents() const { return extents_; }
  std::string fingerprint() const { return bytes_.fingerprint(); }
  /// Reads all elements; call once. `elements` has the product of extents() bytes.
  void read(std::span<std::uint8_t> elements);
  /// The same into new memory.
  std::vector<std::uint8_t> elements();
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const {
    bytes_.fail(what, expected);
  }

 private:
  ByteReader bytes_;
  std::vector<std::int64_t> extents_;
  std::int64_t total_ = 1;
};

}  // namespace trainer
