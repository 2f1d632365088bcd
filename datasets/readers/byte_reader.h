#pragma once

#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "datasets/readers/byte_stream.h"

namespace trainer {

/// The bytes of a file, plain or gzipped, read front to back. It trusts nothing: whatever is wrong with the
/// file is an Error(data) that names it.
class ByteReader final : public ByteStream {
 public:
  explicit ByteReader(const std::string& path);
  ~ByteReader() override;
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  const std::string& path() const { return path_; }
  /// For gzip it is what the file's last bytes claim: no more than so short a file can hold.
  std::int64_t size() const override { return size_; }
  void read(std::span<std::uint8_t> bytes) override;
  void finish() override;
  std::string fingerprint() const override;
  std::string place() const override { return path_; }

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
