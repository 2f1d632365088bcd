#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace trainer {

/// CRC-32 (IEEE 802.3, as zlib computes it) of bytes that come in parts: `before` is that of all bytes before
/// these.
std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// CRC-32 of two parts together, from their own; `second_bytes` is the length of the second.
std::uint32_t joined_crc32(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes);

}  // namespace trainer
