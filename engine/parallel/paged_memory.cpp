#include "engine/parallel/paged_memory.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace trainer {
namespace {

class ReservedMemory final : public SharedMemory {
 public:
  explicit ReservedMemory(std::int64_t size) : size_(static_cast<std::size_t>(size)) {
    if (size == 0) return;
    void* const address = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED)
      throw Error(
          ExitCode::failure,
          fmt::format("no addresses for {} MiB: {}", size >> 20, std::generic_category().message(errno)),
          "limit memory by a cgroup or by ulimit -d; ulimit -v counts addresses without memory, too");
    data_ = static_cast<std::byte*>(address);
    // Of a large page that is released in part the system keeps all.
    madvise(address, size_, MADV_NOHUGEPAGE);
  }
  ~ReservedMemory() override {
    if (data_) munmap(data_, size_);
  }
  std::span<std::byte> bytes() override { return {data_, size_}; }

 private:
  std::size_t size_;
  std::byte* data_ = nullptr;
};

std::uintptr_t page_size() {
  static const auto size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

std::unique_ptr<SharedMemory> reserved_memory(std::int64_t bytes) {
  return std::make_unique<ReservedMemory>(bytes);
}

void commit_pages(std::span<float> floats) {
  if (floats.empty()) return;
  const std::uintptr_t page = page_size();
  const auto begin = reinterpret_cast<std::uintptr_t>(floats.data()), end = begin + floats.size_bytes(),
             first = begin / page * page;
  if (mprotect(reinterpret_cast<void*>(first), end - first, PROT_READ | PROT_WRITE) != 0)
    throw Error(ExitCode::failure,
                fmt::format("no memory for {} KiB of parameters or gradients: {}", (end - first) >> 10,
                            std::generic_category().message(errno)),
                "trainer plan CONFIG shows what takes memory; more ranks need less each");
}

void release_pages(std::span<float> floats) {
  const std::uintptr_t page = page_size();
  const auto begin = reinterpret_cast<std::uintptr_t>(floats.data()), end = begin + floats.size_bytes(),
             first = (begin + page - 1) / page * page, last = end / page * page;
  if (first >= last) return;
  void* const address = reinterpret_cast<void*>(first);
  madvise(address, last - first, MADV_DONTNEED);
  mprotect(address, last - first, PROT_NONE);
}

}  // namespace trainer
