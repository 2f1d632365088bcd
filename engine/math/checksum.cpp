#include "engine/math/checksum.h"

#include "engine/math/kernels/kernels.h"

namespace trainer {

std::uint64_t checksum(std::span<const float> values) {
  return kernels().checksum->checksum(std::ssize(values), values.data());
}

void bit_sums(std::int64_t count, std::span<const float* const> arrays, bool are_cached,
              std::span<std::uint32_t> sums) {
  kernels().checksum->bit_sums(count, std::ssize(arrays), arrays.data(), are_cached, sums.data());
}

}  // namespace trainer
