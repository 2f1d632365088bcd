#pragma once

#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

namespace trainer {

/// The bytes of a file, plain or gzipped, read front to back. It trusts nothing: whatever is wrong with the
/// file is an Error(data) that names it.
class ByteReader {
 public:
  explicit ByteReader(const std::string& path);
  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  const std::string& path() const { return path_; }
  /// Bytes there are to read. For gzip it is what the file's last bytes claim: no more than so short a file
  /// can hold, and finish() proves it.
  std::int64_t size() const { return size_; }
  /// Fills `bytes`; a file that ends before is an error.
  void read(std::span<std::uint8_t> bytes);
  /// Call after the last byte: nothing may follow, and the checksum of gzip must agree.
  void finish();

  /// Name, size and stored checksum: "train-labels-idx1-ubyte.gz 28881 bytes, crc32 0a1b2c3d".
  std::string fingerprint() const;
  /// Throws Error(data) that points at the file; `expected` says what would be right.
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  bool zipped() const { return inflater_ != nullptr; }
  void read_trailer();
  /// Unpacks into `bytes` until it is full or the stream ends; gives the number of bytes written.
  std::size_t inflate_into(std::span<std::uint8_t> bytes);

  std::string path_;
  std::int64_t stored_size_ = 0, size_ = 0;
  std::uint32_t checksum_ = 0;
  bool ended_ = false;  // the gzip stream has come to its end, checksum included
  std::unique_ptr<std::FILE, Close> file_;
  std::unique_ptr<z_stream> inflater_;
  std::array<std::uint8_t, 1 << 15> packed_;
};

}  // namespace trainer
