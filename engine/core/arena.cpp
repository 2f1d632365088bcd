#include "engine/core/arena.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "engine/core/error.h"

namespace trainer {
namespace {

constexpr std::size_t kCacheLine = 64;

}  // namespace

void Arena::Release::operator()(float* block) const { std::free(block); }

Arena::Arena(std::int64_t floats) : size_(static_cast<std::size_t>(floats)) {
  if (size_ == 0) return;
  const std::size_t bytes = (size_ * sizeof(float) + kCacheLine - 1) / kCacheLine * kCacheLine;
  block_.reset(static_cast<float*>(std::aligned_alloc(kCacheLine, bytes)));
  if (!block_)
    throw Error(ExitCode::failure, "no memory for a block of " + std::to_string(bytes >> 20) + " MiB",
                "a smaller train.batch, or more ranks");
  std::ranges::fill(this->floats(), 0.0f);
}

}  // namespace trainer
