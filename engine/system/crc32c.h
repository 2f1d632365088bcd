#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace trainer {

/// CRC-32C (Castagnoli) of bytes that come in pieces: `before` is that of all bytes before these.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// That of two pieces together, from their own; `second_bytes` is the length of the second.
std::uint32_t joined_crc32c(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes);

}  // namespace trainer
