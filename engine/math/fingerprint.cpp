#include "engine/math/fingerprint.h"

#include "engine/math/kernels/kernels.h"

namespace trainer {

std::uint64_t fingerprint(std::span<const float> values, std::int64_t first) {
  return kernels().checksum->fingerprint(std::ssize(values), values.data(), first);
}

FingerprintAndLargest fingerprint_and_largest(std::span<const float> values, std::int64_t first) {
  FingerprintAndLargest both;
  both.sum =
      kernels().checksum->fingerprint_and_largest(std::ssize(values), values.data(), first, &both.largest);
  return both;
}

void row_fingerprints(std::span<const float> rows, std::span<std::uint64_t> sums) {
  const std::int64_t count = std::ssize(sums);
  if (count > 0)
    kernels().checksum->row_fingerprints(count, std::ssize(rows) / count, rows.data(), sums.data());
}

}  // namespace trainer
