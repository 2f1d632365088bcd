#include "engine/math/checksum.h"

#include "engine/math/kernels/kernels.h"

namespace trainer {

std::uint64_t checksum(std::span<const float> values) {
  return kernels().checksum->checksum(std::ssize(values), values.data());
}

std::uint32_t bit_sum(std::span<const float> values) {
  return kernels().checksum->bit_sum(std::ssize(values), values.data());
}

}  // namespace trainer
