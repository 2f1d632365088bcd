#include "engine/core/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "engine/core/error.h"

namespace trainer {
namespace {

constexpr std::int64_t kCacheLine = 64, kLargePage = 2 << 20;

/// Large blocks lie on large pages where the system has them: fewer addresses to translate.
std::int64_t alignment_of(std::int64_t floats) {
  return floats * static_cast<std::int64_t>(sizeof(float)) < 2 * kLargePage ? kCacheLine : kLargePage;
}

}  // namespace

void Arena::Release::operator()(float* block) const { std::free(block); }

Arena::Arena(std::int64_t floats, MemoryKind kind) : size_(static_cast<std::size_t>(floats)) {
  if (size_ == 0) return;
  const std::int64_t alignment = alignment_of(floats);
  const auto bytes = static_cast<std::size_t>(bytes_of(floats));
  block_.reset(static_cast<float*>(std::aligned_alloc(static_cast<std::size_t>(alignment), bytes)));
  if (!block_)
    throw Error(ExitCode::failure, "no memory for a block of " + std::to_string(bytes >> 20) + " MiB",
                "a smaller train.batch, or more ranks; trainer summary CONFIG shows what takes memory");
  if (alignment == kLargePage) madvise(block_.get(), bytes, MADV_HUGEPAGE);
  std::ranges::fill(this->floats(), 0.0f);
  count_ = CountedBytes(kind, static_cast<std::int64_t>(bytes));
}

std::int64_t Arena::bytes_of(std::int64_t floats) {
  const std::int64_t alignment = alignment_of(floats);
  return (floats * static_cast<std::int64_t>(sizeof(float)) + alignment - 1) / alignment * alignment;
}

}  // namespace trainer
