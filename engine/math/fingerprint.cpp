#include "engine/math/fingerprint.h"

#include "engine/math/kernels/kernels.h"

namespace trainer {

std::uint64_t fingerprint(std::span<const float> values, std::int64_t first) {
  return kernels().checksum->fingerprint(std::ssize(values), values.data(), first);
}

}  // namespace trainer
