#include "engine/math/checksum.h"

#include "engine/math/kernels/kernels.h"

namespace trainer {

std::uint64_t checksum(std::span<const float> numbers) {
  return kernels().checksum->checksum(std::ssize(numbers), numbers.data());
}

}  // namespace trainer
