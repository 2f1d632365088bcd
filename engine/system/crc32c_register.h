#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace trainer {

/// What the register of a CRC-32C that holds `rest` becomes when these bytes have passed, by the processor's
/// own instruction where it has one.
std::uint32_t crc32c_register(std::uint32_t rest, std::span<const std::byte> bytes);
/// The same on any processor.
std::uint32_t crc32c_by_tables(std::uint32_t rest, std::span<const std::byte> bytes);

}  // namespace trainer
