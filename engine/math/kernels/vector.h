#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace trainer::KERNEL_NAMESPACE {
namespace {

constexpr int kLanes = KERNEL_LANES;

/// As many floats as a register holds, and integers and bytes to go with them.
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
typedef std::int32_t Integers __attribute__((vector_size(kLanes * sizeof(std::int32_t))));
typedef std::uint8_t Bytes __attribute__((vector_size(kLanes)));

typedef float LooseVector __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));
typedef std::uint8_t LooseBytes __attribute__((vector_size(kLanes), aligned(1), may_alias));

inline Vector load(const float* from) { return *reinterpret_cast<const LooseVector*>(from); }
inline void store(const Vector& vector, float* to) { *reinterpret_cast<LooseVector*>(to) = vector; }

/// Hides where a pointer comes from: else the compiler keeps a pointer for each row or pixel of a tile, or
/// the values behind it, and runs out of registers.
template <class Value>
inline void hide(const Value*& pointer) {
  asm("" : "+r"(pointer));
}

/// Keeps additions in the order of the program where registers are few: else GCC adds in pairs, and moves
/// sums through memory.
template <class Values>
[[gnu::always_inline]] inline Values in_order(Values sum) {
#if defined(__SSE2__) && KERNEL_REGISTERS == 16
  asm("" : "+x"(sum));
#endif
  return sum;
}

constexpr std::int64_t kLine = 16;  ///< floats of a cache line

/// Fetches the cache line `floats` behind `from` into a cache. It may lie outside the array, so its address
/// is computed as an integer. `locality`: 3 for the L1 cache, 2 for L2. Always inline: the
/// compiler removes calls of a function that only fetches.
template <bool writes = false, int locality = 3>
[[gnu::always_inline]] inline void fetch_line(const float* from, std::int64_t floats) {
  const auto bytes = static_cast<std::uintptr_t>(floats) * sizeof(float);
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(from) + bytes), writes,
                     locality);
}

// GCC 12 converts vectors of bytes element by element, and warns of AVX-512's functions without a mask.
#if KERNEL_LANES == 16 && defined(__AVX512F__)
inline Integers integers_of(const std::uint8_t* bytes) {
  return Integers(
      _mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes))));
}
inline void store_bytes(const Integers& integers, std::uint8_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_maskz_cvtepi32_epi8(0xffff, __m512i(integers)));
}
#elif KERNEL_LANES == 8 && defined(__AVX2__)
inline Integers integers_of(const std::uint8_t* bytes) {
  return Integers(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes))));
}
inline void store_bytes(const Integers& integers, std::uint8_t* to) {
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(__m256i(integers)),
                                         _mm256_extracti128_si256(__m256i(integers), 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
}
#else
inline Integers integers_of(const std::uint8_t* bytes) {
  return __builtin_convertvector(*reinterpret_cast<const LooseBytes*>(bytes), Integers);
}
inline void store_bytes(const Integers& integers, std::uint8_t* to) {
  *reinterpret_cast<LooseBytes*>(to) = __builtin_convertvector(integers, Bytes);
}
#endif

/// A vector of channels.
struct Many {
  static constexpr int kChannels = kLanes;
  using Values = Vector;
  using Positions = Integers;

  static Values read(const float* from) { return load(from); }
  static void write(const Values& values, float* to) { store(values, to); }
  static Positions read(const std::uint8_t* from) { return integers_of(from); }
  static void write(const Positions& positions, std::uint8_t* to) { store_bytes(positions, to); }
};

/// A single channel.
struct One {
  static constexpr int kChannels = 1;
  using Values = float;
  using Positions = std::int32_t;

  static Values read(const float* from) { return *from; }
  static void write(Values value, float* to) { *to = value; }
  static Values stream(const float* from) { return read(from); }
  static Positions read(const std::uint8_t* from) { return *from; }
  static void write(Positions position, std::uint8_t* to) { *to = static_cast<std::uint8_t>(position); }
};

/// Calls body(Many or One, first channel) until all channels are done.
template <class Body>
inline void for_each_channel(std::int64_t channels, Body body) {
  std::int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) body(Many{}, c);
  for (; c < channels; ++c) body(One{}, c);
}

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
