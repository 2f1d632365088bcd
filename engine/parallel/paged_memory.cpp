#include "engine/parallel/paged_memory.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <vector>

namespace trainer {
namespace {

std::uintptr_t page_size() { return static_cast<std::uintptr_t>(page_bytes()); }

struct Addresses {
  std::uintptr_t first = 0, last = 0;
};

class ReservedMemory;

/// The blocks of this process by where they end.
std::mutex mutex;
std::map<std::uintptr_t, ReservedMemory*>& blocks() {
  static std::map<std::uintptr_t, ReservedMemory*> all;
  return all;
}

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
    kinds_.resize((size_ + page_size() - 1) / page_size());
    const std::scoped_lock lock(mutex);
    blocks()[begin() + size_] = this;
  }
  ~ReservedMemory() override {
    if (!data_) return;
    {
      const std::scoped_lock lock(mutex);
      blocks().erase(begin() + size_);
    }
    count({begin(), begin() + size_}, std::nullopt);
    munmap(data_, size_);
  }
  ReservedMemory(const ReservedMemory&) = delete;
  ReservedMemory& operator=(const ReservedMemory&) = delete;
  std::span<std::byte> bytes() override { return {data_, size_}; }

  /// Counts pages that get memory for `kind`, or with none give it back.
  void count(const Addresses& pages, std::optional<MemoryKind> kind) {
    MemoryByKind change{};
    const auto bytes = static_cast<std::int64_t>(page_size());
    for (std::uintptr_t page = (pages.first - begin()) / page_size();
         begin() + page * page_size() < pages.last; ++page) {
      std::optional<MemoryKind>& known = kinds_[page];
      if (known.has_value() == kind.has_value()) continue;
      change[static_cast<std::size_t>(kind ? *kind : *known)] += kind ? bytes : -bytes;
      known = kind;
    }
    for (std::size_t i = 0; i < change.size(); ++i) count_memory(static_cast<MemoryKind>(i), change[i]);
  }

 private:
  std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(data_); }

  std::size_t size_;
  std::byte* data_ = nullptr;
  std::vector<std::optional<MemoryKind>> kinds_;  ///< of pages with memory
};

void count_pages(const Addresses& pages, std::optional<MemoryKind> kind) {
  const std::scoped_lock lock(mutex);
  const auto block = blocks().upper_bound(pages.first);
  if (block != blocks().end()) block->second->count(pages, kind);
}

}  // namespace

std::unique_ptr<SharedMemory> reserved_memory(std::int64_t bytes) {
  return std::make_unique<ReservedMemory>(bytes);
}

void commit_pages(std::span<float> floats, MemoryKind kind) {
  if (floats.empty()) return;
  const std::uintptr_t page = page_size();
  const auto begin = reinterpret_cast<std::uintptr_t>(floats.data()), end = begin + floats.size_bytes(),
             first = begin / page * page;
  if (mprotect(reinterpret_cast<void*>(first), end - first, PROT_READ | PROT_WRITE) != 0)
    throw Error(ExitCode::failure,
                fmt::format("no memory for {} KiB of parameters or gradients: {}", (end - first) >> 10,
                            std::generic_category().message(errno)),
                "trainer plan CONFIG shows what takes memory; more ranks need less each");
  count_pages({first, end}, kind);
}

void release_pages(std::span<float> floats) {
  const std::uintptr_t page = page_size();
  const auto begin = reinterpret_cast<std::uintptr_t>(floats.data()), end = begin + floats.size_bytes(),
             first = (begin + page - 1) / page * page, last = end / page * page;
  if (first >= last) return;
  void* const address = reinterpret_cast<void*>(first);
  madvise(address, last - first, MADV_DONTNEED);
  mprotect(address, last - first, PROT_NONE);
  count_pages({first, last}, std::nullopt);
}

}  // namespace trainer
