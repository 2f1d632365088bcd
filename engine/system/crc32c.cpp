#include "engine/system/crc32c.h"

#include <array>
#include <cstring>

#include "engine/system/crc32c_register.h"

namespace trainer {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // bit-reversed, as the register is
constexpr std::size_t kSlices = 8;

/// tables[k][b]: the register after byte b and k zero bytes.
constexpr auto make_tables() {
  std::array<std::array<std::uint32_t, 256>, kSlices> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ (rest & 1 ? kPolynomial : 0);
    tables[0][byte] = rest;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t rest = tables[slice - 1][byte];
      tables[slice][byte] = (rest >> 8) ^ tables[0][rest & 0xFF];
    }
  return tables;
}

constexpr auto kTables = make_tables();

/// The product of two polynomials modulo the CRC's, both bit-reversed: bit 31 is x^0.
std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result = 0;
  for (std::uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    if (a & bit) result ^= b;
    b = (b >> 1) ^ (b & 1 ? kPolynomial : 0);
  }
  return result;
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  return ~crc32c_register(~before, bytes);
}

std::uint32_t crc32c_by_tables(std::uint32_t rest, std::span<const std::byte> bytes) {
  const auto* next = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  for (; left >= kSlices; left -= kSlices, next += kSlices) {
    std::array<std::uint32_t, 2> words;
    std::memcpy(words.data(), next, sizeof words);
    words[0] ^= rest;
    rest = kTables[7][words[0] & 0xFF] ^ kTables[6][(words[0] >> 8) & 0xFF] ^
           kTables[5][(words[0] >> 16) & 0xFF] ^ kTables[4][words[0] >> 24] ^ kTables[3][words[1] & 0xFF] ^
           kTables[2][(words[1] >> 8) & 0xFF] ^ kTables[1][(words[1] >> 16) & 0xFF] ^
           kTables[0][words[1] >> 24];
  }
  for (; left > 0; --left, ++next) rest = (rest >> 8) ^ kTables[0][(rest ^ *next) & 0xFF];
  return rest;
}

std::uint32_t joined_crc32c(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
  // The first piece's register goes on over as many zero bytes: it is multiplied by x^(8 * second_bytes).
  std::uint32_t power = 1u << 23;  // x^8
  for (; second_bytes > 0; second_bytes >>= 1) {
    if (second_bytes & 1) first = product(power, first);
    power = product(power, power);
  }
  return first ^ second;
}

}  // namespace trainer
