#include "engine/core/memory_ledger.h"

#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "engine/core/arena.h"

namespace trainer {
namespace {

std::int64_t counted(MemoryKind kind) { return counted_memory()[static_cast<std::size_t>(kind)]; }

/// Large enough that nothing in this program has had more.
constexpr std::int64_t kMany = 1 << 20;

}  // namespace

TEST_CASE("the ledger has the most bytes of each kind at a time, over all threads", "[core]") {
  const std::int64_t others = counted(MemoryKind::messages);
  {
    const CountedBytes first(MemoryKind::residual, kMany);
    std::thread([] { const CountedBytes second(MemoryKind::residual, kMany); }).join();
    CHECK(counted(MemoryKind::residual) == 2 * kMany);
  }
  { const CountedBytes third(MemoryKind::residual, kMany); }
  CHECK(counted(MemoryKind::residual) == 2 * kMany);
  CHECK(counted(MemoryKind::messages) == others);
}

TEST_CASE("a moved count counts once", "[core]") {
  CountedBytes held;
  {
    CountedBytes first(MemoryKind::checkpoint, kMany);
    held = std::move(first);
    const CountedBytes second(std::move(held));
  }
  const CountedBytes third(MemoryKind::checkpoint, kMany);
  CHECK(counted(MemoryKind::checkpoint) == kMany);
}

TEST_CASE("arenas and counted containers count what they allocate", "[core]") {
  const std::int64_t before = counted(MemoryKind::layer_states);
  const Arena arena(3 * kMany, MemoryKind::layer_states);
  CHECK(counted(MemoryKind::layer_states) == before + Arena::bytes_of(3 * kMany));
  CHECK(Arena::bytes_of(3 * kMany) == 12 * kMany);
  CHECK(Arena::bytes_of(3 * kMany + 1) == 14 * kMany);
  CHECK(Arena::bytes_of(17) == 128);

  std::vector<double, CountedAllocator<double, MemoryKind::optimizer_state>> values;
  values.reserve(kMany);
  CHECK(counted(MemoryKind::optimizer_state) == 8 * kMany);
}

TEST_CASE("pages count once they are written, and of a shared block each process has its part", "[core]") {
  const std::int64_t page = page_bytes(), bytes = 16 * page;
  void* const address = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(address != MAP_FAILED);
  madvise(address, static_cast<std::size_t>(bytes), MADV_NOHUGEPAGE);
  const std::span<std::byte> block(static_cast<std::byte*>(address), static_cast<std::size_t>(bytes));
  {
    const CountedPages pages(MemoryKind::samples, block);
    const CountedPages part(MemoryKind::parameters, block.subspan(100), 4);
    CHECK(counted(MemoryKind::samples) == 0);
    block[0] = block[static_cast<std::size_t>(5 * page)] = std::byte{1};
    CHECK(counted(MemoryKind::samples) == 2 * page);
    CHECK(part.bytes() == (2 * page - 100) / 4);
    CHECK(counted(MemoryKind::parameters) == part.bytes());
  }
  CHECK(counted(MemoryKind::samples) == 0);
  munmap(address, static_cast<std::size_t>(bytes));
}

}  // namespace trainer
