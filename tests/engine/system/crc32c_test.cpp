#include "engine/system/crc32c.h"

#include <catch2/catch.hpp>
#include <string_view>
#include <vector>

#include "engine/system/crc32c_register.h"

namespace trainer {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST_CASE("CRC-32C gives the values that RFC 3720 publishes", "[core]") {
  const std::string zeros(32, '\0'), ones(32, '\xFF');
  CHECK(crc32c(bytes_of("123456789")) == 0xE3069283);
  CHECK(crc32c(bytes_of(zeros)) == 0x8A9136AA);
  CHECK(crc32c(bytes_of(ones)) == 0x62A8AB43);
  CHECK(crc32c({}) == 0);
}

TEST_CASE("CRC-32C of pieces is that of the whole, wherever it is cut and in whatever order", "[core]") {
  const std::string_view whole = "Any moment is safe: what has its final name is whole.";
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    const auto first = bytes_of(whole.substr(0, cut)), second = bytes_of(whole.substr(cut));
    CHECK(crc32c(second, crc32c(first)) == crc32c(bytes_of(whole)));
    CHECK(joined_crc32c(crc32c(first), crc32c(second), second.size()) == crc32c(bytes_of(whole)));
  }
}

TEST_CASE("the processor's CRC-32C is that of the tables, at every length", "[core]") {
  std::vector<std::byte> bytes(100);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + 5);
  for (std::size_t length = 0; length <= bytes.size(); ++length)
    CHECK(crc32c_register(0x12345678, std::span(bytes).first(length)) ==
          crc32c_by_tables(0x12345678, std::span(bytes).first(length)));
}

}  // namespace trainer
