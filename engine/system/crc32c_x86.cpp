#include <cstring>

#include "engine/system/crc32c_register.h"

namespace trainer {
namespace {

__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::uint32_t rest,
                                                               std::span<const std::byte> bytes) {
  std::uint64_t wide = rest;
  std::size_t i = 0;
  for (std::uint64_t word; i + sizeof word <= bytes.size(); i += sizeof word) {
    std::memcpy(&word, bytes.data() + i, sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  rest = static_cast<std::uint32_t>(wide);
  for (; i < bytes.size(); ++i) rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(bytes[i]));
  return rest;
}

}  // namespace

std::uint32_t crc32c_register(std::uint32_t rest, std::span<const std::byte> bytes) {
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  return has_instruction ? by_instruction(rest, bytes) : crc32c_by_tables(rest, bytes);
}

}  // namespace trainer
