#include "engine/core/sha256.h"

#include <algorithm>
#include <charconv>

namespace trainer {
namespace {

constexpr std::size_t kBlock = 64;

void add_blocks(Sha256State& state, const std::byte* blocks, std::size_t count) {
  static const AddSha256Blocks by_instructions = sha256_instructions();
  (by_instructions ? by_instructions : add_sha256_blocks)(state, blocks, count);
}

}  // namespace

void Sha256::add(std::span<const std::byte> bytes) {
  const std::size_t held = bytes_ % kBlock;
  bytes_ += bytes.size();
  if (held > 0) {
    const std::size_t count = std::min(kBlock - held, bytes.size());
    std::ranges::copy(bytes.first(count), block_.begin() + static_cast<std::ptrdiff_t>(held));
    bytes = bytes.subspan(count);
    if (held + count < kBlock) return;
    add_blocks(state_, block_.data(), 1);
  }
  add_blocks(state_, bytes.data(), bytes.size() / kBlock);
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
  std::string text;
  append_hex(text, digest);
  return text;
}

void append_hex(std::string& text, const Sha256Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<char, 2 * std::tuple_size_v<Sha256Digest>> digits;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digits[2 * i] = kDigits[digest[i] >> 4];
    digits[2 * i + 1] = kDigits[digest[i] & 15];
  }
  text.append(digits.data(), digits.size());
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
