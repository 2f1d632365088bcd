#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace trainer {

/// Bytes that are read front to back, of a file or of a part of one.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Bytes there are to read, as far as one can know before: finish() proves it.
  virtual std::int64_t size() const = 0;
  /// Fills `bytes`; an end before is an error.
  virtual void read(std::span<std::uint8_t> bytes) = 0;
  /// Call after the last byte: nothing may follow, and a checksum must agree.
  virtual void finish() = 0;
  /// Name, size and stored checksum: "train-labels-idx1-ubyte.gz 28881 bytes, crc32 0a1b2c3d".
  virtual std::string fingerprint() const = 0;
  /// The path, and what part of the file it is.
  virtual std::string place() const = 0;
  /// Throws Error(data) that points there; `expected` says what would be right.
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const;
};

}  // namespace trainer
