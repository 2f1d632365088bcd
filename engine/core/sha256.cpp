#include "engine/core/sha256.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace trainer {
namespace {

constexpr std::size_t kBlock = 64;

/// The first 32 bits of the fractions of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::byte* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes[i]);
  return value;
}

std::uint32_t rotations(std::uint32_t x, int first, int second, int third) {
  return std::rotr(x, first) ^ std::rotr(x, second) ^ std::rotr(x, third);
}

}  // namespace

void Sha256::compress(const std::byte* blocks, std::size_t count) {
  for (; count > 0; --count, blocks += kBlock) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian(blocks + 4 * t);
    for (std::size_t t = 16; t < 64; ++t) {
      const std::uint32_t early = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
      const std::uint32_t late = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
      w[t] = w[t - 16] + early + w[t - 7] + late;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t t = 0; t < 64; ++t) {
      const std::uint32_t one = h + rotations(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
      const std::uint32_t two = rotations(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
    }
    const std::array<std::uint32_t, 8> all{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < all.size(); ++i) state_[i] += all[i];
  }
}

void Sha256::add(std::span<const std::byte> bytes) {
  const std::size_t held = bytes_ % kBlock;
  bytes_ += bytes.size();
  if (held > 0) {
    const std::size_t count = std::min(kBlock - held, bytes.size());
    std::ranges::copy(bytes.first(count), block_.begin() + static_cast<std::ptrdiff_t>(held));
    bytes = bytes.subspan(count);
    if (held + count < kBlock) return;
    compress(block_.data(), 1);
  }
  compress(bytes.data(), bytes.size() / kBlock);
  std::ranges::copy(bytes.subspan(bytes.size() / kBlock * kBlock), block_.begin());
}

void Sha256::add(std::uint64_t value) {
  std::array<std::byte, 8> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(value >> 8 * i);
  add(bytes);
}

Sha256Digest Sha256::digest() {
  const std::uint64_t bits = bytes_ * 8;
  std::array<std::byte, kBlock + 8> end{std::byte{0x80}};
  // A one, then zeros, so that the length ends a block.
  const std::size_t zeros = (2 * kBlock - 8 - 1 - bytes_ % kBlock) % kBlock;
  for (std::size_t i = 0; i < 8; ++i) end[1 + zeros + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  add(std::span(end).first(1 + zeros + 8));
  Sha256Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

std::string hex_of(const Sha256Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(2 * digest.size(), ' ');
  for (std::size_t i = 0; i < digest.size(); ++i) {
    text[2 * i] = kDigits[digest[i] >> 4];
    text[2 * i + 1] = kDigits[digest[i] & 15];
  }
  return text;
}

std::optional<Sha256Digest> digest_of_hex(std::string_view text) {
  Sha256Digest digest;
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const char* const first = text.data() + 2 * i;
    const auto [end, problem] = std::from_chars(first, first + 2, digest[i], 16);
    if (problem != std::errc() || end != first + 2) return std::nullopt;
  }
  return digest;
}

}  // namespace trainer
