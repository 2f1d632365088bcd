#include "engine/core/memory_ledger.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <vector>

namespace trainer {
namespace {

struct Count {
  std::atomic<std::int64_t> now{0}, most{0};
};

std::array<Count, kMemoryKinds.size()> counts;
std::mutex mutex;

std::set<const CountedPages*>& blocks() {
  static std::set<const CountedPages*> all;
  return all;
}

}  // namespace

std::int64_t page_bytes() {
  static const std::int64_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}

void count_memory(MemoryKind kind, std::int64_t bytes) {
  if (bytes == 0) return;
  Count& count = counts[static_cast<std::size_t>(kind)];
  const std::int64_t now = count.now += bytes;
  std::int64_t most = count.most;
  while (now > most && !count.most.compare_exchange_weak(most, now)) {
  }
}

MemoryByKind counted_memory() {
  MemoryByKind bytes{};
  std::ranges::transform(counts, bytes.begin(), [](const Count& count) { return count.most.load(); });
  const std::scoped_lock lock(mutex);
  for (const CountedPages* block : blocks()) bytes[static_cast<std::size_t>(block->kind())] += block->bytes();
  return bytes;
}

CountedPages::CountedPages(MemoryKind kind, std::span<const std::byte> block, int sharers)
    : kind_(kind), block_(block), sharers_(sharers) {
  const std::scoped_lock lock(mutex);
  blocks().insert(this);
}

CountedPages::~CountedPages() {
  const std::scoped_lock lock(mutex);
  blocks().erase(this);
}

std::int64_t CountedPages::bytes() const {
  if (block_.empty()) return 0;
  const auto page = static_cast<std::uintptr_t>(page_bytes());
  const auto begin = reinterpret_cast<std::uintptr_t>(block_.data()), end = begin + block_.size(),
             first = begin / page * page;
  std::vector<unsigned char> pages((end - first + page - 1) / page);
  if (mincore(reinterpret_cast<void*>(first), end - first, pages.data()) != 0) return 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < pages.size(); ++i)
    if ((pages[i] & 1U) != 0)
      bytes += static_cast<std::int64_t>(std::min(end, first + (i + 1) * page) -
                                         std::max(begin, first + i * page));
  return bytes / sharers_;
}

}  // namespace trainer
