#include "engine/math/kernels/fingerprint.h"
#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/vector.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// Chains of additions, enough of them to hide their latency with the widest vectors.
constexpr int kChains = 32;

std::uint64_t checksum(std::int64_t count, const float* x) {
  std::uint64_t sums[kChains] = {};
  std::int64_t i = 0;
  for (; i + 2 * kChains <= count; i += 2 * kChains)
    for (int chain = 0; chain < kChains; ++chain) {
      std::uint64_t pair;
      __builtin_memcpy(&pair, x + i + 2 * chain, sizeof pair);
      sums[chain] += pair;
    }
  for (int chain = 0; i < count; ++i, chain = (chain + 1) % kChains)
    sums[chain] += __builtin_bit_cast(std::uint32_t, x[i]);
  // Odd factors, another for each chain: no flipped bit is lost, and what moves to another place shows.
  std::uint64_t total = 0;
  for (int chain = 0; chain < kChains; ++chain)
    total += sums[chain] * (0x9E3779B97F4A7C15u + 0xD1B54A32D192ED04u * static_cast<std::uint64_t>(chain));
  return total;
}

std::uint32_t bit_sum(std::int64_t count, const float* x) {
  constexpr int kVectors = 4;
  Integers sums[kVectors] = {};
  std::int64_t i = 0;
  for (; i + kVectors * kLanes <= count; i += kVectors * kLanes)
    for (int v = 0; v < kVectors; ++v) {
      Integers words;
      __builtin_memcpy(&words, x + i + v * kLanes, sizeof words);
      sums[v] ^= words;
    }
  const Integers lanes = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
  // The compiler folds words of memory by halves, lanes of a vector one by one.
  std::uint64_t pairs[kLanes / 2];
  __builtin_memcpy(pairs, &lanes, sizeof lanes);
  std::uint64_t folded = 0;
  for (const std::uint64_t pair : pairs) folded ^= pair;
  auto sum = static_cast<std::uint32_t>(folded ^ folded >> 32);
  for (; i < count; ++i) sum ^= __builtin_bit_cast(std::uint32_t, x[i]);
  return sum;
}

}  // namespace

extern const ChecksumKernels checksum_kernels;
const ChecksumKernels checksum_kernels = {checksum, bit_sum, fingerprint, fingerprint_and_largest,
                                          row_fingerprints};

}  // namespace trainer::KERNEL_NAMESPACE
