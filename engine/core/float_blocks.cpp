#include "engine/core/float_blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace trainer {
namespace {

using Block = std::array<std::uint32_t, kFloatCodeBlock>;

constexpr std::size_t kBlock = kFloatCodeBlock;

template <class T>
void put(std::byte*& code, const T& value, std::size_t bytes = sizeof(T)) {
  std::memcpy(code, &value, sizeof(T));
  code += bytes;
}

template <class T>
void get(const std::byte*& code, T& value, std::size_t bytes = sizeof(T)) {
  std::memcpy(&value, code, sizeof(T));
  code += bytes;
}

/// Moves the elements that are not 0 to the front; bit i of the result: whether element i was one.
std::uint64_t leave_zeros_out(Block& block) {
  std::array<std::uint8_t, kBlock> is_there;
  for (std::size_t i = 0; i < kBlock; ++i) is_there[i] = block[i] != 0;
  std::uint64_t places = 0;
  for (std::size_t i = 0; i < kBlock; i += 8) {
    std::uint64_t bytes = 0;
    for (std::size_t k = 0; k < 8; ++k) bytes |= std::uint64_t{is_there[i + k]} << (8 * k);
    places |= (bytes * 0x0102040810204080u >> 56) << i;  // the lowest bit of each byte
  }
  Block rest = {};
  for (std::size_t i = 0, count = 0; i < kBlock; ++i) {
    rest[count] = block[i];
    count += is_there[i];
  }
  block = rest;
  return places;
}

void put_zeros_back(Block& block, std::uint64_t places) {
  const Block rest = block;
  for (std::size_t i = 0, next = 0; i < kBlock; ++i) {
    const std::uint32_t is_there = places >> i & 1;
    block[i] = rest[next % kBlock] & (0U - is_there);
    next += is_there;
  }
}

/// The low 16 bits of mantissas, the other 7 with the sign, and distances of exponents: 4 bits each, a byte
/// for an element of the first half of the block and one of the second.
struct ShortBlock {
  std::array<std::uint16_t, kBlock> halves;
  std::array<std::uint8_t, kBlock> tops;
  std::array<std::uint8_t, kBlock / 2> distances;
};

void put_short(std::byte*& code, const Block& block, std::size_t count, std::uint32_t largest) {
  ShortBlock part;
  std::array<std::uint8_t, kBlock + kBlock / 2> distances = {};
  for (std::size_t i = 0; i < kBlock; ++i) part.halves[i] = static_cast<std::uint16_t>(block[i]);
  for (std::size_t i = 0; i < kBlock; ++i)
    part.tops[i] = static_cast<std::uint8_t>((block[i] >> 16 & 0x7f) | (block[i] >> 24 & 0x80));
  for (std::size_t i = 0; i < kBlock; ++i)
    distances[i] = static_cast<std::uint8_t>((largest - (block[i] & kExponentBits)) >> kMantissaBits &
                                             (kExponentDistances - 1));
  const std::size_t half = (count + 1) / 2;
  for (std::size_t i = 0; i < kBlock / 2; ++i)
    part.distances[i] = static_cast<std::uint8_t>(distances[i] | distances[i + half] * kExponentDistances);
  put(code, part.halves, 2 * count);
  put(code, part.tops, count);
  put(code, part.distances, half);
}

void get_short(const std::byte*& code, Block& block, std::size_t count, std::uint32_t largest) {
  ShortBlock part;
  const std::size_t half = (count + 1) / 2;
  get(code, part.halves, 2 * count);
  get(code, part.tops, count);
  get(code, part.distances, half);
  std::array<std::uint8_t, kBlock + kBlock / 2> distances = {};
  for (std::size_t i = 0; i < kBlock / 2; ++i) distances[i] = part.distances[i] % kExponentDistances;
  for (std::size_t i = 0; i < kBlock / 2; ++i) distances[i + half] = part.distances[i] / kExponentDistances;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const std::uint32_t top = part.tops[i], distance = distances[i];
    block[i] =
        (top & 0x80) << 24 | (top & 0x7f) << 16 | part.halves[i] | (largest - (distance << kMantissaBits));
  }
}

/// Exponents in their place, of elements that are not 0, and the number of those that are. Signed integers,
/// since SSE2 compares no others.
struct Exponents {
  std::int32_t largest = 0, smallest = std::int32_t{kExponentBits}, zeros = 0;
};

Exponents exponents_of(const Block& block) {
  Exponents found;
  for (const std::uint32_t bits : block)
    found.largest = std::max(found.largest, static_cast<std::int32_t>(bits & kExponentBits));
  for (const std::uint32_t bits : block) {
    const std::int32_t if_zero = -static_cast<std::int32_t>(bits == 0);
    found.zeros -= if_zero;
    found.smallest =
        std::min(found.smallest,
                 static_cast<std::int32_t>((bits | static_cast<std::uint32_t>(if_zero)) & kExponentBits));
  }
  return found;
}

std::byte* encode(const float* elements, std::byte* code) {
  Block block;
  std::memcpy(block.data(), elements, sizeof block);
  const Exponents exponents = exponents_of(block);
  const auto largest = static_cast<std::uint32_t>(exponents.largest);
  const bool leaves_out = exponents.zeros >= kManyZeros, has_zeros = exponents.zeros > 0;
  const std::uint32_t smallest =
      has_zeros && !leaves_out ? 0 : static_cast<std::uint32_t>(exponents.smallest);
  const bool is_short = exponents.zeros == std::int32_t{kBlock} || largest - smallest < kExponentDistances
                                                                                            << kMantissaBits;
  put(code, static_cast<std::uint8_t>((leaves_out ? kLeavesZerosOut : 0) | (is_short ? kIsShort : 0)));
  put(code, static_cast<std::uint8_t>(largest >> kMantissaBits));
  std::uint64_t places = ~std::uint64_t{0};
  if (leaves_out) {
    places = leave_zeros_out(block);
    put(code, places);
  }
  const auto count = static_cast<std::size_t>(std::popcount(places));
  if (is_short)
    put_short(code, block, count, largest);
  else
    put(code, block, sizeof(float) * count);
  return code;
}

const std::byte* decode(const std::byte* code, float* elements) {
  Block block;
  std::uint8_t flags, exponent;
  get(code, flags);
  get(code, exponent);
  const bool leaves_out = (flags & kLeavesZerosOut) != 0, is_short = (flags & kIsShort) != 0;
  std::uint64_t places = ~std::uint64_t{0};
  if (leaves_out) get(code, places);
  const auto count = static_cast<std::size_t>(std::popcount(places));
  if (is_short)
    get_short(code, block, count, static_cast<std::uint32_t>(exponent) << kMantissaBits);
  else
    get(code, block, sizeof(float) * count);
  if (leaves_out) put_zeros_back(block, places);
  std::memcpy(elements, block.data(), sizeof block);
  return code;
}

}  // namespace

const FloatBlocks plain_float_blocks = {encode, decode};

}  // namespace trainer
