#include "engine/system/crc32c_register.h"

namespace trainer {

std::uint32_t crc32c_register(std::uint32_t rest, std::span<const std::byte> bytes) {
  return crc32c_by_tables(rest, bytes);
}

}  // namespace trainer
