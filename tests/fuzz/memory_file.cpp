#include "tests/fuzz/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace trainer {

MemoryFile::MemoryFile()
    : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)),
      path_("/proc/self/fd/" + std::to_string(descriptor_.number())) {
  if (descriptor_.number() < 0) throw std::runtime_error("no file in memory");
}

void MemoryFile::hold(std::span<const std::uint8_t> bytes) {
  if (::ftruncate(descriptor_.number(), 0) != 0 ||
      ::pwrite(descriptor_.number(), bytes.data(), bytes.size(), 0) != std::ssize(bytes))
    throw std::runtime_error("no memory for a file");
}

MemoryFolder::MemoryFolder(const std::vector<std::string>& names) : files_(names.size()) {
  for (std::size_t i = 0; i < names.size(); ++i)
    std::filesystem::create_symlink(files_[i].path(), folder_.path() / names[i]);
}

}  // namespace trainer
