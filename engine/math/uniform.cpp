#include "engine/math/uniform.h"

#include <algorithm>

#include "engine/math/kernels/kernels.h"

namespace trainer {

void fill_uniform(const RandomStream& stream, std::uint64_t first, std::span<float> values) {
  // Kernels compute whole counters, of four values each.
  const std::size_t before = std::min<std::size_t>((4 - first % 4) % 4, values.size());
  stream.fill_uniform(first, values.first(before));
  values = values.subspan(before);
  first += before;
  const std::size_t counters = values.size() / 4;
  kernels().random->uniform(first / 4, stream.moment(), stream.key(), static_cast<std::int64_t>(counters),
                            values.data());
  stream.fill_uniform(first + 4 * counters, values.subspan(4 * counters));
}

}  // namespace trainer
