#include "engine/core/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "engine/core/error.h"

namespace trainer {
namespace {

constexpr std::size_t kCacheLine = 64, kLargePage = 2 << 20;

}  // namespace

void Arena::Release::operator()(float* block) const { std::free(block); }

Arena::Arena(std::int64_t floats) : size_(static_cast<std::size_t>(floats)) {
  if (size_ == 0) return;
  // Large blocks lie on large pages where the system has them: fewer addresses to translate.
  const std::size_t alignment = size_ * sizeof(float) < 2 * kLargePage ? kCacheLine : kLargePage;
  const std::size_t bytes = (size_ * sizeof(float) + alignment - 1) / alignment * alignment;
  block_.reset(static_cast<float*>(std::aligned_alloc(alignment, bytes)));
  if (!block_)
    throw Error(ExitCode::failure, "no memory for a block of " + std::to_string(bytes >> 20) + " MiB",
                "a smaller train.batch, or more ranks; trainer summary CONFIG shows what takes memory");
  if (alignment == kLargePage) madvise(block_.get(), bytes, MADV_HUGEPAGE);
  std::ranges::fill(this->floats(), 0.0f);
}

}  // namespace trainer
