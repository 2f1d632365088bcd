#include "engine/system/crc32.h"

#include <zlib.h>

namespace trainer {

std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before) {
  // zlib takes an empty part without an address for a request of the initial value.
  if (bytes.empty()) return before;
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::uint32_t joined_crc32(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
  return static_cast<std::uint32_t>(crc32_combine(first, second, static_cast<z_off_t>(second_bytes)));
}

}  // namespace trainer
