#include "engine/system/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace trainer {
namespace {

std::string system_words(int error) { return std::generic_category().message(error); }

/// "model.safetensors.4711-0.partial": process id and a number make the name unique.
Descriptor create_beside(const std::filesystem::path& path, std::filesystem::path& partial_path) {
  constexpr int kAttempts = 100;
  int number = -1;
  for (int attempt = 0; attempt < kAttempts && number < 0; ++attempt) {
    partial_path = fmt::format("{}.{}-{}.partial", path.string(), ::getpid(), attempt);
    // O_EXCL: an existing file or link is neither followed nor overwritten.
    number = ::open(partial_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (number < 0 && errno != EEXIST) break;
  }
  return Descriptor(number);
}

/// A pipe, a device, or an open descriptor such as /dev/stdout, which may be a regular file.
bool is_written_in_place(const std::filesystem::path& path) {
  for (const char* start : {"/dev/std", "/dev/fd/", "/proc/self/fd/"})
    if (path.string().starts_with(start)) return true;
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

std::filesystem::path behind_links(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as the kernel
  std::error_code error;
  for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(path, error); ++links)
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  return path;
}

}  // namespace

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

InputFile::InputFile(std::filesystem::path path, ExitCode code)
    : path_(std::move(path)),
      code_(code),
      // Without O_NONBLOCK, opening a named pipe would wait for a writer.
      descriptor_(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  struct stat status {};
  if (descriptor_.number() < 0 || ::fstat(descriptor_.number(), &status) != 0) fail(system_words(errno));
  if (!S_ISREG(status.st_mode)) fail("is not a regular file");
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pread(descriptor_.number(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(system_words(errno));
    if (count == 0) fail("ends too soon");
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void InputFile::fail(const std::string& what) const {
  throw Error(code_, fmt::format("{}: {}", path_.string(), what));
}

OutputFile::OutputFile(std::filesystem::path path)
    : path_(is_written_in_place(path) ? path : behind_links(path)),
      descriptor_(is_written_in_place(path)
                      ? Descriptor(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC))
                      : create_beside(path_, partial_path_)) {
  if (descriptor_.number() < 0) fail(errno);
}

OutputFile::~OutputFile() {
  if (!partial_path_.empty()) ::unlink(partial_path_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_.number(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    // A full disk first shortens a write and gives its reason only to the next one.
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void OutputFile::commit() {
  if (partial_path_.empty()) return descriptor_.close();
  if (::fsync(descriptor_.number()) != 0) fail(errno);
  descriptor_.close();
  if (std::rename(partial_path_.c_str(), path_.c_str()) != 0) fail(errno);
  partial_path_.clear();
  flush_directory(path_.parent_path());
}

void OutputFile::fail(int error) const {
  throw Error(ExitCode::failure, fmt::format("cannot write {}: {}", path_.string(), system_words(error)));
}

std::string read_file(const std::filesystem::path& path, ExitCode code, std::uint64_t limit) {
  const InputFile file(path, code);
  if (file.size() > limit) file.fail(fmt::format("is larger than {} bytes", limit));
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  OutputFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

void flush_directory(const std::filesystem::path& directory) {
  const std::filesystem::path name = directory.empty() ? "." : directory;
  const Descriptor descriptor(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // EINVAL: the file system cannot flush a directory. Its files are flushed already.
  if (descriptor.number() < 0 || (::fsync(descriptor.number()) != 0 && errno != EINVAL))
    throw Error(ExitCode::failure, fmt::format("cannot flush {}: {}", name.string(), system_words(errno)));
}

}  // namespace trainer
