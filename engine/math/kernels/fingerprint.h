#pragma once

#include <bit>
#include <cstdint>

#include "engine/math/kernels/largest.h"
#include "engine/math/kernels/vector.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// Fingerprints; engine/math/fingerprint.h has the formula.

namespace trainer::KERNEL_NAMESPACE {
namespace {

constexpr int kColumns = 16, kRows = 8, kBlock = kRows * kColumns;

/// Weights of the halves of an element, by its row in the block. Odd and distinct, with a sum below 2^16: the
/// weighted sum of a column has 32 bits.
struct HalfWeights {
  std::int16_t lower, upper;
};
constexpr HalfWeights kWeights[kRows] = {{2769, 6043}, {3745, 9677}, {1901, 3153}, {15, 9741},
                                         {7553, 2545}, {4207, 211},  {1389, 455},  {11253, 819}};

// Columns are added in pairs, as words of 64 bits.
constexpr int kWords = kLanes / 2, kVectors = kColumns / kLanes, kPairs = kColumns / 2;
typedef std::uint32_t Columns __attribute__((vector_size(kLanes * sizeof(std::uint32_t))));
typedef std::uint64_t Words __attribute__((vector_size(kWords * sizeof(std::uint64_t))));
typedef std::uint64_t LooseWords
    __attribute__((vector_size(kWords * sizeof(std::uint64_t)), aligned(8), may_alias));

/// A column of block r has the factor first + r step; `first` is odd, `step` twice an odd number: all factors
/// of a column are odd and differ.
struct Factors {
  std::uint64_t first[kPairs], step[kPairs];
};

constexpr std::uint64_t scattered(std::uint64_t index) {
  std::uint64_t bits = index * 0x9E3779B97F4A7C15u;
  for (int turn = 0; turn < 2; ++turn) bits = (bits ^ bits >> 32) * 0xD6E8FEB86659FD93u;
  return bits ^ bits >> 32;
}

/// Those of the even or of the odd columns.
constexpr Factors factors_of(int first_column) {
  Factors factors{};
  for (int pair = 0; pair < kPairs; ++pair) {
    const auto index = static_cast<std::uint64_t>(2 * (2 * pair + first_column));
    factors.first[pair] = scattered(index + 1) | 1;
    factors.step[pair] = 2 * (scattered(index + 2) | 1);
  }
  return factors;
}

constexpr int kLowerColumn = std::endian::native == std::endian::little ? 0 : 1;
constexpr Factors kLower = factors_of(kLowerColumn), kUpper = factors_of(1 - kLowerColumn);

inline Words words_at(const std::uint64_t* from) { return *reinterpret_cast<const LooseWords*>(from); }

/// Adds the weighted sum of the two halves of each element, as signed numbers.
inline void add_weighted(const float* x, const HalfWeights& weights, Columns& sums) {
  Integers elements;
  __builtin_memcpy(&elements, x, sizeof elements);
#if defined(__SSE2__)
  const int pair = weights.lower | weights.upper << 16;
#if KERNEL_LANES == 16
  sums += Columns(_mm512_madd_epi16(__m512i(elements), _mm512_set1_epi32(pair)));
#elif KERNEL_LANES == 8
  sums += Columns(_mm256_madd_epi16(__m256i(elements), _mm256_set1_epi32(pair)));
#else
  sums += Columns(_mm_madd_epi16(__m128i(elements), _mm_set1_epi32(pair)));
#endif
#else
  sums += Columns((elements << 16 >> 16) * weights.lower + (elements >> 16) * weights.upper);
#endif
}

/// Makes weighted sums positive.
constexpr std::uint32_t kBias = 1u << 31;

/// The weighted sums of the columns of one block, plus kBias each.
struct BlockColumns {
  BlockColumns() {
    for (Columns& sum : sums) sum = Columns{} + kBias;
  }
  void add(const float* row, const HalfWeights& weights) {
    for (int v = 0; v < kVectors; ++v) add_weighted(row + v * kLanes, weights, sums[v]);
  }
  /// Adds elements [first, last) of the block, which are in one row.
  void add_part(const float* x, int first, int last) {
    float row[kColumns] = {};
    __builtin_memcpy(row + first % kColumns, x, static_cast<std::size_t>(last - first) * sizeof(float));
    add(row, kWeights[first / kColumns]);
  }

  Columns sums[kVectors];
};

/// Of consecutive blocks: sums of the weighted columns, and the sums of these sums after each block.
class BlockSums {
 public:
  void add(const float* block) {
    ++blocks_;
    // One vector of columns after the other, so that the sums stay in registers.
    for (int v = 0; v < kVectors; ++v) {
      Columns sum = Columns{} + kBias;
      for (int row = 0; row < kRows; ++row)
        add_weighted(block + row * kColumns + v * kLanes, kWeights[row], sum);
      add(v, sum);
    }
  }

  /// Adds a block of zeros, but for elements [first, last).
  void add_part(const float* x, int first, int last) {
    BlockColumns columns;
    int next = first;
    if (first % kColumns != 0) {
      const int end = (first / kColumns + 1) * kColumns;
      next = end < last ? end : last;
      columns.add_part(x, first, next);
    }
    for (; next + kColumns <= last; next += kColumns)
      columns.add(x + next - first, kWeights[next / kColumns]);
    if (next < last) columns.add_part(x + next - first, next, last);
    add(columns);
  }

  /// The sum over columns times their factors; the first block is `first` of the array.
  std::uint64_t total(std::uint64_t first) const {
    // A block r is end - r blocks before the end, so that the sum of r times it is end * sum - later.
    const std::uint64_t end = first + blocks_;
    const std::uint64_t bias = blocks_ << 31, later_bias = blocks_ * (blocks_ + 1) / 2 << 31;
    Words total = {};
    for (int v = 0; v < kVectors; ++v) {
      const auto add_half = [&](const Factors& factors, const Words& sum, const Words& later) {
        const Words step = words_at(factors.step + v * kWords);
        total +=
            (words_at(factors.first + v * kWords) + step * end) * (sum - bias) - step * (later - later_bias);
      };
      add_half(kLower, whole_[v] - (upper_[v] << 32), later_whole_[v] - (later_upper_[v] << 32));
      add_half(kUpper, upper_[v], later_upper_[v]);
    }
    std::uint64_t sum = 0;
    for (int word = 0; word < kWords; ++word) sum += total[word];
    return sum;
  }

 private:
  void add(const BlockColumns& columns) {
    ++blocks_;
    for (int v = 0; v < kVectors; ++v) add(v, columns.sums[v]);
  }
  void add(int v, const Columns& sum) {
    const auto words = std::bit_cast<Words>(sum);
    later_whole_[v] += whole_[v] += words;
    later_upper_[v] += upper_[v] += words >> 32;
  }

  std::uint64_t blocks_ = 0;
  Words whole_[kVectors] = {}, upper_[kVectors] = {}, later_whole_[kVectors] = {},
        later_upper_[kVectors] = {};
};

/// Of an array that begins with element `first` of the whole one; visit(x, count) sees all of its elements
/// in order.
template <class Visit>
inline std::uint64_t sum_of(std::int64_t count, const float* x, std::int64_t first, Visit visit) {
  BlockSums sums;
  const std::int64_t before = first % kBlock;
  std::int64_t done = 0;
  if (before > 0) {
    done = count < kBlock - before ? count : kBlock - before;
    sums.add_part(x, static_cast<int>(before), static_cast<int>(before + done));
    visit(x, done);
  }
  for (; done + kBlock <= count; done += kBlock) {
    sums.add(x + done);
    visit(x + done, kBlock);
  }
  if (done < count) {
    sums.add_part(x + done, 0, static_cast<int>(count - done));
    visit(x + done, count - done);
  }
  return sums.total(static_cast<std::uint64_t>(first / kBlock));
}

std::uint64_t fingerprint(std::int64_t count, const float* x, std::int64_t first) {
  return sum_of(count, x, first, [](const float*, std::int64_t) {});
}

std::uint64_t fingerprint_and_largest(std::int64_t count, const float* x, std::int64_t first,
                                      std::uint32_t* largest) {
  Largest magnitudes;
  const std::uint64_t sum =
      sum_of(count, x, first, [&](const float* part, std::int64_t size) { magnitudes.add(size, part); });
  *largest = magnitudes.bits();
  return sum;
}

void row_fingerprints(std::int64_t rows, std::int64_t size, const float* x, std::uint64_t* sums) {
  for (std::int64_t row = 0; row < rows; ++row) sums[row] = fingerprint(size, x + row * size, 0);
}

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
