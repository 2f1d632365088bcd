#include "engine/math/uniform.h"

#include <algorithm>

#include "engine/math/kernels/kernels.h"

namespace trainer {

void fill_uniform(const RandomStream& stream, std::uint64_t first, std::span<float> numbers) {
  // Kernels know whole counters, of four numbers each.
  const std::size_t before = std::min<std::size_t>((4 - first % 4) % 4, numbers.size());
  stream.fill_uniform(first, numbers.first(before));
  numbers = numbers.subspan(before);
  first += before;
  const std::size_t counters = numbers.size() / 4;
  kernels().random->uniform(first / 4, stream.moment(), stream.key(), static_cast<std::int64_t>(counters),
                            numbers.data());
  stream.fill_uniform(first + 4 * counters, numbers.subspan(4 * counters));
}

}  // namespace trainer
