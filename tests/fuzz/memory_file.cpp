#include "tests/fuzz/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

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

}  // namespace trainer
