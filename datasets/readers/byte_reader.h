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

/// The bytes of a file, plain or gzipped, read front to back. A gzip file may have several members (RFC
/// 1952): it is what all of them hold. Whatever is wrong with the file is an Error(data) that names it.
class ByteReader final : public ByteStream {
 public:
  explicit ByteReader(const std::string& path);
  ~ByteReader() override;
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  const std::string& path() const { return path_; }
  /// Unpacked bytes. A gzip file of one member claims them in its last bytes; a claim above what deflate can
  /// pack is an error.
  std::int64_t size() const override { return size_; }
  /// The most bytes to which a gzip file may unpack before anything claims how many they are: so many for
  /// each of its own, at least 64 MiB.
  static constexpr std::int64_t kUnpackedPerByte = 64;
  std::int64_t unpacked_limit() const;
  /// Bytes of the file itself.
  std::int64_t stored_size() const { return stored_size_; }
  bool is_packed() const { return inflater_ != nullptr; }
  void read(std::span<std::uint8_t> bytes) override;
  void finish() override;
  bool reads_anywhere() const override { return !is_packed(); }
  void read_at(std::int64_t offset, std::span<std::uint8_t> bytes) const override;
  std::string fingerprint() const override;
  std::string place() const override { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void rewind();
  void read_trailer();
  /// False if no second member can be there: its first bytes occur nowhere.
  bool may_have_members();
  /// Unpacks all members for their size and checksum, which only the last bytes of each have.
  void count_members();
  void read_packed();  ///< some more bytes for the inflater, behind those that it has; none at the end
  /// Unpacks into `bytes` until it is full or the last member ends; returns the number of bytes written.
  std::size_t inflate_into(std::span<std::uint8_t> bytes);

  std::string path_;
  std::int64_t stored_size_ = 0, size_ = 0;
  std::uint32_t checksum_ = 0;
  bool ended_ = false;  ///< the last member has ended and its checksum is right
  std::unique_ptr<std::FILE, Close> file_;
  std::unique_ptr<z_stream> inflater_;
  std::array<std::uint8_t, 1 << 15> packed_;
};

}  // namespace trainer
