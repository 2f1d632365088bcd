#include "engine/core/sha256.h"

#include <catch2/catch.hpp>

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

TEST_CASE("a digest is read from its hexadecimal digits alone", "[core]") {
  const std::string digits = sha256("abc");
  CHECK(hex_of(digest_of_hex(digits).value()) == digits);
  for (const std::string& text : {digits.substr(1), digits + "0", "x" + digits.substr(1), std::string()})
    CHECK_FALSE(digest_of_hex(text));
}

}  // namespace trainer
