#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/error.h"

namespace trainer {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int number() const { return number_; }
  void close();

 private:
  int number_;
};

/// A regular file, read by position. Every failure is an Error with `code` that names the file.
class InputFile {
 public:
  InputFile(std::filesystem::path path, ExitCode code);

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Fills `bytes` from `offset`; a file that ends sooner is an error.
  void read(std::uint64_t offset, std::span<std::byte> bytes) const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::filesystem::path path_;
  ExitCode code_;
  Descriptor descriptor_;
  std::uint64_t size_ = 0;
};

/// A file that appears under its name when commit() has flushed it, whole or not at all; until then it has
/// another name, and without commit() it leaves nothing. A link stays, its target is replaced. A pipe, a
/// device, and an open descriptor such as /dev/stdout are written directly. Failures (a full disk) are
/// Error(failure) with path and reason.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_, partial_path_;
  Descriptor descriptor_;
};

/// The whole of a file of at most `limit` bytes.
std::string read_file(const std::filesystem::path& path, ExitCode code, std::uint64_t limit);

void write_file(const std::filesystem::path& path, std::string_view text);

/// Makes the names in `directory` (a rename, a new file) survive a power cut.
void flush_directory(const std::filesystem::path& directory);

}  // namespace trainer
