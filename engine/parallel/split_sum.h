#pragma once

#include <cstdint>
#include <functional>

#include "engine/system/thread_pool.h"

namespace trainer {

/// work(part, parts), by the workers of `pool` if it is not null and a sum of so many floats is worth waking
/// them.
template <class Work>
void split_sum(std::int64_t floats, ThreadPool* pool, const Work& work) {
  constexpr std::int64_t kFloatsWorthThreads = 1 << 16;
  if (!pool || floats < kFloatsWorthThreads) return work(0, 1);
  const auto part = [&](int worker) { work(worker, pool->size()); };
  pool->run(std::ref(part));
}

}  // namespace trainer
