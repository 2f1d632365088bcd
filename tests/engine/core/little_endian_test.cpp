#include "engine/core/little_endian.h"

#include <catch2/catch.hpp>
#include <cstdint>

namespace trainer {

TEST_CASE("values of files have the least significant byte first on every processor", "[core]") {
  const std::vector<std::uint32_t> words{0x64636261, 0x68676665};
  CHECK(LittleEndian(words).text() == "abcdefgh");
  CHECK(LittleEndian(std::span(words).last(1)).text() == "efgh");
  const std::vector<float> floats{std::bit_cast<float>(0x64636261U)};
  CHECK(LittleEndian(floats).text() == "abcd");

  std::uint16_t read = 0;
  std::as_writable_bytes(std::span(&read, 1))[0] = std::byte{0x34};
  std::as_writable_bytes(std::span(&read, 1))[1] = std::byte{0x12};
  swap_if_big_endian(std::span(&read, 1));
  CHECK(read == 0x1234);
}

}  // namespace trainer
