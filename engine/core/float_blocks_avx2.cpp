#include "engine/core/float_blocks.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <bit>
#include <cstring>
#endif

namespace trainer {

#if defined(__x86_64__)
namespace {

#define AVX2 __attribute__((target("avx2,popcnt")))

constexpr int kLanes = 8, kVectors = kFloatCodeBlock / kLanes;
/// Elements of a step from or to the short form.
constexpr int kPair = 2 * kLanes;

/// A block, and what a step reads and writes behind the last element that is kept.
using Elements = std::array<float, kFloatCodeBlock + kPair>;
/// A byte for each of them, and what is read from the middle of them on.
using ElementBytes = std::array<std::uint8_t, kFloatCodeBlock + kFloatCodeBlock / 2>;

/// By the bits of 8 elements, which of them are there: the lane from which each lane comes.
using Lanes = std::array<std::array<std::uint8_t, kLanes>, 1 << kLanes>;
constexpr Lanes lanes_to_front() {
  Lanes lanes{};
  for (unsigned places = 0; places < lanes.size(); ++places)
    for (unsigned lane = 0, next = 0; lane < kLanes; ++lane)
      if ((places >> lane & 1) != 0) lanes[places][next++] = static_cast<std::uint8_t>(lane);
  return lanes;
}
constexpr Lanes lanes_to_places() {
  Lanes lanes{};
  for (unsigned places = 0; places < lanes.size(); ++places)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      lanes[places][lane] = static_cast<std::uint8_t>(std::popcount(places & ((1U << lane) - 1)));
  return lanes;
}
alignas(64) constexpr Lanes kToFront = lanes_to_front(), kToPlaces = lanes_to_places();

AVX2 __m256i vector_at(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
AVX2 void store(__m256i vector, void* to) { _mm256_storeu_si256(static_cast<__m256i*>(to), vector); }
AVX2 void store(__m128i vector, void* to) { _mm_storeu_si128(static_cast<__m128i*>(to), vector); }
AVX2 __m128i half_at(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
/// 8 bytes, as integers.
AVX2 __m256i bytes_at(const void* from) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(from)));
}
AVX2 __m256i all(std::uint32_t bits) { return _mm256_set1_epi32(static_cast<int>(bits)); }
/// Packs go by halves of a vector; this puts the quarters in order.
AVX2 __m256i in_order(__m256i packed) { return _mm256_permute4x64_epi64(packed, 0xD8); }

/// The lane that a comparison of two lanes prefers, of all lanes.
template <class Prefer>
AVX2 std::uint32_t reduced(__m256i vector, Prefer prefer) {
  __m128i best = prefer(_mm256_castsi256_si128(vector), _mm256_extracti128_si256(vector, 1));
  best = prefer(best, _mm_shuffle_epi32(best, 0x4E));
  best = prefer(best, _mm_shuffle_epi32(best, 0xB1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(best));
}

struct Facts {
  std::uint32_t largest, smallest;  ///< exponents in their place, of elements that are not 0
  std::uint64_t places;             ///< of these elements
};

AVX2 Facts facts_of(const float* block) {
  const __m256i exponent = all(kExponentBits), zero = _mm256_setzero_si256();
  __m256i largest = zero, smallest = exponent;
  std::uint64_t places = 0;
  for (int v = 0; v < kVectors; ++v) {
    const __m256i bits = vector_at(block + v * kLanes), is_zero = _mm256_cmpeq_epi32(bits, zero);
    largest = _mm256_max_epi32(largest, _mm256_and_si256(bits, exponent));
    smallest = _mm256_min_epi32(smallest, _mm256_and_si256(_mm256_or_si256(bits, is_zero), exponent));
    const auto zeros = static_cast<std::uint8_t>(_mm256_movemask_ps(_mm256_castsi256_ps(is_zero)));
    places |= std::uint64_t{static_cast<std::uint8_t>(~zeros)} << v * kLanes;
  }
  const auto more = [](__m128i a, __m128i b) AVX2 { return _mm_max_epi32(a, b); };
  const auto less = [](__m128i a, __m128i b) AVX2 { return _mm_min_epi32(a, b); };
  return {reduced(largest, more), reduced(smallest, less), places};
}

AVX2 void leave_zeros_out(const float* block, std::uint64_t places, Elements& rest) {
  float* next = rest.data();
  for (int v = 0; v < kVectors; ++v, places >>= kLanes) {
    const auto here = static_cast<std::uint8_t>(places);
    store(_mm256_permutevar8x32_epi32(vector_at(block + v * kLanes), bytes_at(kToFront[here].data())), next);
    next += std::popcount(here);
  }
  store(_mm256_setzero_si256(), next);
  store(_mm256_setzero_si256(), next + kLanes);
}

AVX2 void put_zeros_back(const Elements& rest, std::uint64_t places, float* block) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const float* next = rest.data();
  for (int v = 0; v < kVectors; ++v, places >>= kLanes) {
    const auto here = static_cast<std::uint8_t>(places);
    const __m256i is_there = _mm256_cmpeq_epi32(_mm256_and_si256(all(here), bit), bit);
    const __m256i spread = _mm256_permutevar8x32_epi32(vector_at(next), bytes_at(kToPlaces[here].data()));
    store(_mm256_and_si256(spread, is_there), block + v * kLanes);
    next += std::popcount(here);
  }
}

AVX2 std::byte* put_short(const float* elements, int count, std::uint32_t largest, std::byte* code) {
  const __m256i low = all(0xffff), mantissa = all(0x7f), sign = all(0x80);
  // Of fours of bytes, which packs leave by halves of vectors.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const auto top = [&](__m256i bits) AVX2 {
    return _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(bits, 16), mantissa),
                           _mm256_and_si256(_mm256_srli_epi32(bits, 24), sign));
  };
  const auto distance = [&](__m256i bits) AVX2 {
    const __m256i behind = _mm256_sub_epi32(all(largest), _mm256_and_si256(bits, all(kExponentBits)));
    return _mm256_and_si256(_mm256_srli_epi32(behind, kMantissaBits), all(kExponentDistances - 1));
  };
  for (int i = 0; i < count; i += kPair) {
    const __m256i first = vector_at(elements + i), second = vector_at(elements + i + kLanes);
    store(in_order(_mm256_packus_epi32(_mm256_and_si256(first, low), _mm256_and_si256(second, low))),
          code + 2 * i);
  }
  code += 2 * count;
  ElementBytes distances;
  for (int i = 0; i < count; i += kPair) {
    const __m256i first = vector_at(elements + i), second = vector_at(elements + i + kLanes);
    const __m256i of_tops = _mm256_packus_epi32(top(first), top(second)),
                  of_distances = _mm256_packus_epi32(distance(first), distance(second));
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(of_tops, of_distances), order);
    store(_mm256_castsi256_si128(bytes), code + i);
    store(_mm256_extracti128_si256(bytes, 1), distances.data() + i);
  }
  code += count;
  const int half = (count + 1) / 2;
  const __m256i upper = _mm256_slli_epi16(vector_at(distances.data() + half), 4);
  store(_mm256_or_si256(vector_at(distances.data()), upper), code);
  return code + half;
}

AVX2 const std::byte* get_short(const std::byte* code, int count, std::uint32_t largest, float* elements) {
  const std::byte *const tops = code + 2 * count, *const pairs = tops + count;
  const int half = (count + 1) / 2;
  const __m256i lower = _mm256_set1_epi8(kExponentDistances - 1), both = vector_at(pairs);
  ElementBytes distances;
  store(_mm256_and_si256(both, lower), distances.data());
  store(_mm256_and_si256(_mm256_srli_epi16(both, 4), lower), distances.data() + half);
  for (int i = 0; i < count; i += kLanes) {
    const __m256i top = bytes_at(tops + i), low = _mm256_cvtepu16_epi32(half_at(code + 2 * i));
    const __m256i sign = _mm256_slli_epi32(_mm256_and_si256(top, all(0x80)), 24),
                  mantissa = _mm256_or_si256(_mm256_slli_epi32(_mm256_and_si256(top, all(0x7f)), 16), low),
                  exponent = _mm256_sub_epi32(
                      all(largest), _mm256_slli_epi32(bytes_at(distances.data() + i), kMantissaBits));
    store(_mm256_or_si256(_mm256_or_si256(sign, mantissa), exponent), elements + i);
  }
  return pairs + half;
}

AVX2 std::byte* encode(const float* block, std::byte* code) {
  const Facts facts = facts_of(block);
  const int there = std::popcount(facts.places), zeros = kFloatCodeBlock - there;
  const bool leaves_out = zeros >= kManyZeros;
  const std::uint32_t smallest = zeros > 0 && !leaves_out ? 0 : facts.smallest;
  const bool is_short = there == 0 || facts.largest - smallest < kExponentDistances << kMantissaBits;
  *code++ = std::byte((leaves_out ? kLeavesZerosOut : 0) | (is_short ? kIsShort : 0));
  *code++ = std::byte(facts.largest >> kMantissaBits);
  Elements rest;
  const float* kept = block;
  if (leaves_out) {
    std::memcpy(code, &facts.places, sizeof facts.places);
    code += sizeof facts.places;
    leave_zeros_out(block, facts.places, rest);
    kept = rest.data();
  }
  const int count = leaves_out ? there : int{kFloatCodeBlock};
  if (is_short) return put_short(kept, count, facts.largest, code);
  std::memcpy(code, kept, kFloatCodeBlock * sizeof(float));
  return code + static_cast<std::size_t>(count) * sizeof(float);
}

AVX2 const std::byte* decode(const std::byte* code, float* block) {
  const auto flags = std::to_integer<std::uint8_t>(code[0]);
  const std::uint32_t largest = std::to_integer<std::uint32_t>(code[1]) << kMantissaBits;
  code += 2;
  const bool leaves_out = (flags & kLeavesZerosOut) != 0;
  std::uint64_t places = ~std::uint64_t{0};
  Elements rest;
  float* kept = block;
  if (leaves_out) {
    std::memcpy(&places, code, sizeof places);
    code += sizeof places;
    kept = rest.data();
  }
  const int count = std::popcount(places);
  if ((flags & kIsShort) != 0) {
    code = get_short(code, count, largest, kept);
  } else {
    std::memcpy(kept, code, kFloatCodeBlock * sizeof(float));
    code += static_cast<std::size_t>(count) * sizeof(float);
  }
  if (leaves_out) put_zeros_back(rest, places, block);
  return code;
}

#undef AVX2

}  // namespace

const FloatBlocks* avx2_float_blocks() {
  static constexpr FloatBlocks blocks = {encode, decode};
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") ? &blocks : nullptr;
}
#else
const FloatBlocks* avx2_float_blocks() { return nullptr; }
#endif

}  // namespace trainer
