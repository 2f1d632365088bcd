#include "engine/parallel/sum_in_order.h"

#include <algorithm>

namespace trainer {

void sum_in_order(std::span<const float* const> sources, float* target, std::int64_t first,
                  std::int64_t last) {
  if (sources.size() == 1) {
    if (sources[0] != target) std::copy(sources[0] + first, sources[0] + last, target + first);
    return;
  }
  // A block that stays in the first-level cache; being no source itself, it lets the loops be vectorised.
  constexpr std::int64_t kBlock = 2048;
  alignas(64) float block[kBlock];
  for (std::int64_t start = first; start < last; start += kBlock) {
    const std::int64_t count = std::min(kBlock, last - start);
    const float *a = sources[0] + start, *b = sources[1] + start;
    for (std::int64_t i = 0; i < count; ++i) block[i] = a[i] + b[i];
    for (const float* source : sources.subspan(2))
      for (std::int64_t i = 0; i < count; ++i) block[i] += source[start + i];
    std::copy(block, block + count, target + start);
  }
}

}  // namespace trainer
