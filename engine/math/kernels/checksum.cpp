#include <bit>

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

// Words of two elements: a sum of words is that of the lower halves plus 2^32 times that of the upper ones.
constexpr int kWords = kLanes / 2, kVectors = kFingerprintColumns / kLanes;
typedef std::uint64_t Words __attribute__((vector_size(kWords * sizeof(std::uint64_t))));

/// Of consecutive rows, for each vector of their columns: the sums of the words and of their upper halves,
/// and the sums of these sums after each row.
struct WordSums {
  Words whole[kVectors] = {}, upper[kVectors] = {}, all_whole[kVectors] = {}, all_upper[kVectors] = {};

  void add(const float* row) {
    for (int v = 0; v < kVectors; ++v) {
      Words words;
      __builtin_memcpy(&words, row + v * kLanes, sizeof words);
      all_whole[v] += whole[v] += words;
      all_upper[v] += upper[v] += words >> 32;
    }
  }
  /// Puts `count` rows after these.
  void append(const WordSums& after, std::uint64_t count) {
    for (int v = 0; v < kVectors; ++v) {
      all_whole[v] += whole[v] * count + after.all_whole[v];
      all_upper[v] += upper[v] * count + after.all_upper[v];
      whole[v] += after.whole[v];
      upper[v] += after.upper[v];
    }
  }
};

void column_sums_of_bits(std::int64_t rows, const float* x, std::uint64_t* sums, std::uint64_t* later) {
  constexpr int kLower = std::endian::native == std::endian::little ? 0 : 1;
  // Two halves where a row is one vector: their chains of additions hide each other's latency.
  const std::int64_t half = kVectors == 1 ? rows / 2 : 0, rest = rows - half;
  WordSums all, second;
  for (std::int64_t row = 0; row < half; ++row) {
    all.add(x + row * kFingerprintColumns);
    second.add(x + (half + row) * kFingerprintColumns);
  }
  for (std::int64_t row = half; row < rest; ++row) second.add(x + (half + row) * kFingerprintColumns);
  all.append(second, static_cast<std::uint64_t>(rest));
  for (int v = 0; v < kVectors; ++v)
    for (int word = 0; word < kWords; ++word) {
      const int lower = v * kLanes + 2 * word + kLower, other = lower ^ 1;
      sums[lower] = (all.whole[v] - (all.upper[v] << 32))[word];
      sums[other] = all.upper[v][word];
      later[lower] = (all.all_whole[v] - (all.all_upper[v] << 32))[word];
      later[other] = all.all_upper[v][word];
    }
}

}  // namespace

extern const ChecksumKernels checksum_kernels;
const ChecksumKernels checksum_kernels = {checksum, bit_sum, column_sums_of_bits};

}  // namespace trainer::KERNEL_NAMESPACE
