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

constexpr std::uint64_t scattered(std::uint64_t index) {
  std::uint64_t bits = index * 0x9E3779B97F4A7C15u;
  for (int turn = 0; turn < 2; ++turn) bits = (bits ^ bits >> 32) * 0xD6E8FEB86659FD93u;
  return bits ^ bits >> 32;
}

/// A column of block r has the factor first + r step; `first` is odd, `step` twice an odd number: all factors
/// of a column are odd and differ.
struct ColumnFactor {
  std::uint64_t first, step;
};
constexpr ColumnFactor factor_of(int column) {
  const auto index = static_cast<std::uint64_t>(2 * column);
  return {scattered(index + 1) | 1, 2 * (scattered(index + 2) | 1)};
}

/// Factors of the sums of words of two columns, and of the sums of their upper halves.
struct PairFactors {
  std::uint64_t whole_first[kPairs], whole_step[kPairs], upper_first[kPairs], upper_step[kPairs];
  /// Sums over all columns.
  std::uint64_t first, step;
};
constexpr PairFactors pair_factors() {
  PairFactors factors{};
  for (int pair = 0; pair < kPairs; ++pair) {
    const bool is_little = std::endian::native == std::endian::little;
    const ColumnFactor lower = factor_of(2 * pair + (is_little ? 0 : 1)),
                       upper = factor_of(2 * pair + (is_little ? 1 : 0));
    factors.whole_first[pair] = lower.first;
    factors.whole_step[pair] = lower.step;
    factors.upper_first[pair] = upper.first - (lower.first << 32);
    factors.upper_step[pair] = upper.step - (lower.step << 32);
    factors.first += lower.first + upper.first;
    factors.step += lower.step + upper.step;
  }
  return factors;
}
constexpr PairFactors kFactors = pair_factors();

inline Words words_at(const std::uint64_t* from) { return *reinterpret_cast<const LooseWords*>(from); }

/// Adds the weighted sum of the two halves of each element, as signed numbers.
inline void add_weighted(const Integers& elements, const HalfWeights& weights, Columns& sums) {
#if defined(__SSE2__)
  std::int32_t pair;
  __builtin_memcpy(&pair, &weights, sizeof pair);
#if KERNEL_LANES == 16
  sums = in_order(sums + Columns(_mm512_madd_epi16(__m512i(elements), _mm512_set1_epi32(pair))));
#elif KERNEL_LANES == 8
  sums = in_order(sums + Columns(_mm256_madd_epi16(__m256i(elements), _mm256_set1_epi32(pair))));
#else
  sums = in_order(sums + Columns(_mm_madd_epi16(__m128i(elements), _mm_set1_epi32(pair))));
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
  /// visit(v, vector) sees the vectors of the row.
  template <class Visit>
  [[gnu::always_inline]] void add(const float* row, const HalfWeights& weights, Visit visit) {
    for (int v = 0; v < kVectors; ++v) {
      Integers elements;
      __builtin_memcpy(&elements, row + v * kLanes, sizeof elements);
      add_weighted(elements, weights, sums[v]);
      visit(v, elements);
    }
  }
  void add(const float* row, const HalfWeights& weights) {
    add(row, weights, [](int, const Integers&) {});
  }
  /// Adds elements [first, last) of the block, which are in one row.
  void add_part(const float* x, int first, int last) {
    float row[kColumns] = {};
    __builtin_memcpy(row + first % kColumns, x, static_cast<std::size_t>(last - first) * sizeof(float));
    add(row, kWeights[first / kColumns]);
  }

  Columns sums[kVectors];
};

/// Factors of sums over the blocks [begin, begin + count). A block r is end - r blocks before the end, so
/// that the sum of r times it is end times the sum, less the sum of the sums after each block.
struct BlockFactors {
  BlockFactors(std::uint64_t begin, std::uint64_t count) {
    const std::uint64_t end = begin + count;
    for (int v = 0; v < kVectors; ++v) {
      const auto at = [v](const std::uint64_t* values) { return words_at(values + v * kWords); };
      whole[v] = at(kFactors.whole_first) + at(kFactors.whole_step) * end;
      upper[v] = at(kFactors.upper_first) + at(kFactors.upper_step) * end;
    }
    bias = (kFactors.first + kFactors.step * end) * (count << 31) -
           kFactors.step * (count * (count + 1) / 2 << 31);
  }

  Words whole[kVectors], upper[kVectors];
  std::uint64_t bias;  ///< the part of the total that comes from kBias
};

/// Of consecutive blocks: sums of the weighted columns, and the sums of these sums after each block.
class BlockSums {
 public:
  BlockSums() {
    for (int v = 0; v < kVectors; ++v) whole_[v] = upper_[v] = later_whole_[v] = later_upper_[v] = Words{};
  }

  /// visit(i, vector) sees vector i of the block.
  template <class Visit>
  [[gnu::always_inline]] void add(const float* block, Visit visit) {
    BlockColumns columns;
    const HalfWeights* weights = kWeights;
    if (kVectors > 1) hide(weights);
    for (int row = 0; row < kRows; ++row)
      columns.add(block + row * kColumns, weights[row],
                  [&](int v, const Integers& vector) { visit(row * kVectors + v, vector); });
    add(columns);
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

  /// The sum over columns times their factors.
  std::uint64_t total(const BlockFactors& factors) const {
    Words total = {};
    for (int v = 0; v < kVectors; ++v) {
      const auto at = [v](const std::uint64_t* values) { return words_at(values + v * kWords); };
      total += whole_[v] * factors.whole[v] + upper_[v] * factors.upper[v] -
               later_whole_[v] * at(kFactors.whole_step) - later_upper_[v] * at(kFactors.upper_step);
    }
    std::uint64_t sum = 0;
    for (int word = 0; word < kWords; ++word) sum += total[word];
    return sum - factors.bias;
  }

 private:
  void add(const BlockColumns& columns) {
    for (int v = 0; v < kVectors; ++v) add(v, columns.sums[v]);
  }
  void add(int v, const Columns& sum) {
    const auto words = std::bit_cast<Words>(sum);
    later_whole_[v] += whole_[v] += words;
    later_upper_[v] += upper_[v] += words >> 32;
  }

  Words whole_[kVectors], upper_[kVectors], later_whole_[kVectors], later_upper_[kVectors];
};

/// Of an array that begins with element `first` of its first block. `largest` sees all of its elements.
template <class Largest>
[[gnu::always_inline]] inline BlockSums sums_of(std::int64_t count, const float* x, std::int64_t first,
                                                Largest& largest) {
  BlockSums sums;
  std::int64_t done = 0;
  if (first > 0) {
    done = count < kBlock - first ? count : kBlock - first;
    sums.add_part(x, static_cast<int>(first), static_cast<int>(first + done));
    largest.add(done, x);
  }
  for (; done + kBlock <= count; done += kBlock)
    sums.add(x + done, [&](int i, const Integers& vector) { largest.add(i, vector); });
  if (done < count) {
    sums.add_part(x + done, 0, static_cast<int>(count - done));
    largest.add(count - done, x + done);
  }
  return sums;
}

/// The fingerprint of an array that begins with element `first` of the whole one.
template <class Largest>
inline std::uint64_t sum_of(std::int64_t count, const float* x, std::int64_t first, Largest& largest) {
  const std::int64_t begin = first / kBlock, end = (first + count + kBlock - 1) / kBlock;
  const BlockFactors factors(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end - begin));
  return sums_of(count, x, first % kBlock, largest).total(factors);
}

struct NoLargest {
  void add(std::int64_t, const float*) {}
  void add(int, const Integers&) {}
};

std::uint64_t fingerprint(std::int64_t count, const float* x, std::int64_t first) {
  NoLargest none;
  return sum_of(count, x, first, none);
}

std::uint64_t fingerprint_and_largest(std::int64_t count, const float* x, std::int64_t first,
                                      std::uint32_t* largest) {
  Largest magnitudes;
  const std::uint64_t sum = sum_of(count, x, first, magnitudes);
  *largest = magnitudes.bits();
  return sum;
}

void row_fingerprints(std::int64_t rows, std::int64_t size, const float* x, std::uint64_t* sums) {
  const BlockFactors factors(0, static_cast<std::uint64_t>((size + kBlock - 1) / kBlock));
  NoLargest none;
  for (std::int64_t row = 0; row < rows; ++row)
    sums[row] = sums_of(size, x + row * size, 0, none).total(factors);
}

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
