#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/core/sha256_blocks.h"

namespace trainer {

using Sha256Digest = std::array<std::uint8_t, 32>;

/// SHA-256 (FIPS 180-4) of bytes that come in parts.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  /// The least significant byte first.
  void add(std::uint64_t value);
  /// The digest of all parts; nothing may be added afterwards.
  Sha256Digest digest();

 private:
  Sha256State state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};
  std::uint64_t bytes_ = 0;
};

/// In hexadecimal digits.
std::string hex_of(const Sha256Digest& digest);
void append_hex(std::string& text, const Sha256Digest& digest);
/// The reverse; nothing if `text` is not 64 hexadecimal digits.
std::optional<Sha256Digest> digest_of_hex(std::string_view text);

}  // namespace trainer
