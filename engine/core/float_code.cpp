#include "engine/core/float_code.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace trainer {
namespace {

// Loops over all elements of a block become vector code.
constexpr std::size_t kBlock = 64;
using Block = std::array<std::uint32_t, kBlock>;

constexpr int kMantissaBits = 23;
constexpr std::uint32_t kExponent = 0x7f800000, kDistances = 16;
/// From how many zeros on they are left out.
constexpr std::uint32_t kFewZeros = 3;

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
  Block rest = {};
  std::uint64_t places = 0;
  for (std::size_t i = 0, count = 0; i < kBlock; ++i) {
    rest[count] = block[i];
    count += block[i] != 0;
    places |= static_cast<std::uint64_t>(block[i] != 0) << i;
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

// Halves of mantissas, the rest of them with the sign, and distances of two elements in a byte.
using Halves = std::array<std::uint16_t, kBlock>;
using Bytes = std::array<std::uint8_t, kBlock>;
using Distances = std::array<std::uint8_t, kBlock / 2>;

void put_short(std::byte*& code, const Block& block, std::size_t count, std::uint32_t largest) {
  Halves halves;
  Bytes tops;
  Distances distances;
  for (std::size_t i = 0; i < kBlock; ++i) halves[i] = static_cast<std::uint16_t>(block[i]);
  for (std::size_t i = 0; i < kBlock; ++i)
    tops[i] = static_cast<std::uint8_t>((block[i] >> 16 & 0x7f) | (block[i] >> 24 & 0x80));
  const auto distance = [&](std::size_t i) {
    return (largest - (block[i] & kExponent)) >> kMantissaBits & (kDistances - 1);
  };
  for (std::size_t i = 0; i < kBlock / 2; ++i)
    distances[i] = static_cast<std::uint8_t>(distance(2 * i) | distance(2 * i + 1) << 4);
  put(code, halves, 2 * count);
  put(code, tops, count);
  put(code, distances, (count + 1) / 2);
}

void get_short(const std::byte*& code, Block& block, std::size_t count, std::uint32_t largest) {
  Halves halves;
  Bytes tops;
  Distances distances;
  get(code, halves, 2 * count);
  get(code, tops, count);
  get(code, distances, (count + 1) / 2);
  for (std::size_t i = 0; i < kBlock / 2; ++i) {
    block[2 * i] = distances[i] & (kDistances - 1);
    block[2 * i + 1] = distances[i] / kDistances;
  }
  for (std::size_t i = 0; i < kBlock; ++i) {
    const std::uint32_t top = tops[i];
    block[i] = (top & 0x80) << 24 | (top & 0x7f) << 16 | halves[i] | (largest - (block[i] << kMantissaBits));
  }
}

void encode(std::byte*& code, Block& block) {
  std::uint32_t largest = 0, smallest = kExponent, zeros = 0;
  for (const std::uint32_t bits : block) {
    const std::uint32_t exponent = bits & kExponent;
    largest = std::max(largest, exponent);
    smallest = std::min(smallest, bits == 0 ? kExponent : exponent);
    zeros += bits == 0;
  }
  const bool has_zeros = zeros >= kFewZeros;
  if (!has_zeros && zeros > 0) smallest = 0;
  const bool is_short = zeros == kBlock || largest - smallest < kDistances << kMantissaBits;
  std::uint64_t places = ~std::uint64_t{0};
  put(code, static_cast<std::byte>((has_zeros ? 1 : 0) | (is_short ? 2 : 0)));
  put(code, static_cast<std::byte>(largest >> kMantissaBits));
  if (has_zeros) put(code, places = leave_zeros_out(block));
  const auto count = static_cast<std::size_t>(std::popcount(places));
  is_short ? put_short(code, block, count, largest) : put(code, block, sizeof(float) * count);
}

void decode(const std::byte*& code, Block& block) {
  std::byte flags, exponent;
  get(code, flags);
  get(code, exponent);
  const bool has_zeros = (flags & std::byte{1}) != std::byte{},
             is_short = (flags & std::byte{2}) != std::byte{};
  std::uint64_t places = ~std::uint64_t{0};
  if (has_zeros) get(code, places);
  const auto count = static_cast<std::size_t>(std::popcount(places));
  if (is_short)
    get_short(code, block, count, static_cast<std::uint32_t>(exponent) << kMantissaBits);
  else
    get(code, block, sizeof(float) * count);
  if (has_zeros) put_zeros_back(block, places);
}

}  // namespace

std::int64_t encode_floats(std::span<const float> values, std::span<std::byte> code) {
  std::byte* next = code.data();
  while (!values.empty()) {
    Block block = {};
    const std::size_t count = std::min(kBlock, values.size());
    std::memcpy(block.data(), values.data(), count * sizeof(float));
    encode(next, block);
    values = values.subspan(count);
  }
  return next - code.data();
}

bool decode_floats(std::span<const std::byte> code, std::span<float> values) {
  const std::byte* next = code.data();
  const std::byte* const end = next + code.size();
  while (!values.empty() && next < end) {
    Block block;
    const std::size_t count = std::min(kBlock, values.size());
    decode(next, block);
    std::memcpy(values.data(), block.data(), count * sizeof(float));
    values = values.subspan(count);
  }
  return values.empty() && next == end;
}

}  // namespace trainer
