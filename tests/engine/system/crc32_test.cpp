#include "engine/system/crc32.h"

#include <catch2/catch.hpp>
#include <string_view>

namespace trainer {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST_CASE("CRC-32 gives the published values", "[system]") {
  CHECK(crc32_of(bytes_of("123456789")) == 0xCBF43926);
  CHECK(crc32_of(bytes_of("a")) == 0xE8B7BE43);
  CHECK(crc32_of({}) == 0);
  CHECK(crc32_of({}, 0x12345678) == 0x12345678);
}

TEST_CASE("CRC-32 of two parts is that of the whole, wherever it is cut", "[system]") {
  const std::string_view whole = "A checkpoint has its final name only when all of it is on the disk.";
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    const auto first = bytes_of(whole.substr(0, cut)), second = bytes_of(whole.substr(cut));
    CHECK(crc32_of(second, crc32_of(first)) == crc32_of(bytes_of(whole)));
    CHECK(joined_crc32(crc32_of(first), crc32_of(second), second.size()) == crc32_of(bytes_of(whole)));
  }
}

}  // namespace trainer
