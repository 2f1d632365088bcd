#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace trainer {

/// The bytes of a file, or of an entry of an archive, read front to back.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Bytes to read, as the file claims; finish() verifies it.
  virtual std::int64_t size() const = 0;
  /// Fills `bytes`. Error(data) if the stream ends before.
  virtual void read(std::span<std::uint8_t> bytes) = 0;
  /// Call after the last byte. Error(data) if more bytes follow or a checksum is wrong.
  virtual void finish() = 0;
  /// True if read_at() may be called.
  virtual bool reads_anywhere() const { return false; }
  /// Fills `bytes` with one or more whole rows of an array, which begin at `offset`. Several threads may call
  /// it at the same time. Error(data) if the stream ends before.
  virtual void read_at(std::int64_t offset, std::span<std::uint8_t> bytes) const;
  /// Name, size and stored checksum: "train-labels-idx1-ubyte.gz 28881 bytes, crc32 0a1b2c3d".
  virtual std::string fingerprint() const = 0;
  /// The path; for archives with the name of the entry.
  virtual std::string place() const = 0;
  /// Throws Error(data) at place(); `expected` is what would be right.
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const;
};

}  // namespace trainer
