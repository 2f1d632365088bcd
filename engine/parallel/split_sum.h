#pragma once

#include <cstdint>
#include <functional>

#include "engine/system/thread_pool.h"

namespace trainer {

/// Calls work(part, parts) on the workers of `pool`, or work(0, 1) here if `pool` is null or a sum of
/// `floats` is too short to wake them.
template <class Work>
void split_sum(std::int64_t floats, ThreadPool* pool, const Work& work) {
  constexpr std::int64_t kFloatsWorthThreads = 1 << 16;
  if (!pool || floats < kFloatsWorthThreads) return work(0, 1);
  const auto part = [&](int worker) { work(worker, pool->size()); };
  pool->run(std::ref(part));
}

}  // namespace trainer
