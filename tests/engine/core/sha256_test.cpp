#include "engine/core/sha256.h"

#include <catch2/catch.hpp>
#include <vector>

namespace trainer {
namespace {

std::string sha256(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hex_of(hash.digest());
}

}  // namespace

TEST_CASE("SHA-256 gives the digests of FIPS 180-4, however the bytes come", "[core]") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  const std::string million(1'000'000, 'a');
  CHECK(sha256(million) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  Sha256 parts;
  for (std::size_t first = 0, count = 1; first < million.size(); first += count++)
    parts.add(std::string_view(million).substr(first, count));
  CHECK(hex_of(parts.digest()) == sha256(million));
}

TEST_CASE("the processor's instructions for SHA-256 give the state of the portable code", "[core]") {
  const AddSha256Blocks add_by_instructions = sha256_instructions();
  if (!add_by_instructions) return;
  std::vector<std::byte> bytes(1 + 64 * 40);
  Sha256State state{}, portable{};
  std::uint32_t next = 1;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((next = next * 1664525 + 1013904223) >> 24);
  for (std::size_t count = 0; count < 40; ++count)
    for (const std::size_t first : {0, 1}) {
      add_by_instructions(state, bytes.data() + first, count);
      add_sha256_blocks(portable, bytes.data() + first, count);
      CHECK(state == portable);
    }
}

TEST_CASE("the portable code of SHA-256 gives the digest of FIPS 180-4", "[core]") {
  // "abc", its end and its length in bits.
  std::array<std::byte, 64> block{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}, std::byte{0x80}};
  block.back() = std::byte{24};
  Sha256State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  add_sha256_blocks(state, block.data(), 1);
  CHECK(state == Sha256State{0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3, 0x96177a9c,
                             0xb410ff61, 0xf20015ad});
}

TEST_CASE("a digest is read from its hexadecimal digits alone", "[core]") {
  const std::string digits = sha256("abc");
  CHECK(hex_of(digest_of_hex(digits).value()) == digits);
  for (const std::string& text : {digits.substr(1), digits + "0", "x" + digits.substr(1), std::string()})
    CHECK_FALSE(digest_of_hex(text));
}

}  // namespace trainer
