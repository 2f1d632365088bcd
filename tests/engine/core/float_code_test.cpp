#include "engine/core/float_code.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/core/float_blocks.h"
#include "engine/core/random.h"

namespace trainer {
namespace {

std::vector<std::byte> code_of(const std::vector<float>& values) {
  const auto most = most_code_bytes(std::ssize(values));
  std::vector<std::byte> code(static_cast<std::size_t>(most + kFloatCodeSlack));
  const std::int64_t bytes = encode_floats(values, code);
  REQUIRE(bytes <= most);
  code.resize(static_cast<std::size_t>(bytes));
  return code;
}

/// Whether the first `count` floats come back from the code.
bool decodes(const std::vector<std::byte>& code, std::vector<float>& values) {
  std::vector<std::byte> with_slack = code;
  with_slack.resize(code.size() + kFloatCodeSlack, std::byte{0xa5});
  return decode_floats(std::span(with_slack).first(code.size()), values);
}

void check_whole(const std::vector<float>& values) {
  std::vector<float> back(values.size(), 7);
  CHECK(decodes(code_of(values), back));
  CHECK(std::memcmp(back.data(), values.data(), values.size() * sizeof(float)) == 0);
}

std::vector<float> uniform(std::size_t count, float from, float to) {
  std::vector<float> values(count);
  RandomStream(1, "values").fill_uniform(0, values);
  for (float& value : values) value = from + (to - from) * value;
  return values;
}

}  // namespace

TEST_CASE("floats come back bit by bit from their code, in any number", "[float_code]") {
  const std::size_t count = GENERATE(0, 1, 2, 63, 64, 65, 128, 1000);
  check_whole(uniform(count, -0.1f, 0.1f));
}

TEST_CASE("any bits of floats come back from their code", "[float_code]") {
  std::vector<float> values(100 * 64);
  const RandomStream random(2, "bits");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = random.bits(i);
    std::memcpy(&values[i], &bits, sizeof bits);
  }
  check_whole(values);
  using Limits = std::numeric_limits<float>;
  const std::vector<float> extremes{0.0f,
                                    -0.0f,
                                    Limits::infinity(),
                                    -Limits::infinity(),
                                    Limits::quiet_NaN(),
                                    Limits::denorm_min(),
                                    -Limits::denorm_min(),
                                    Limits::max(),
                                    Limits::min(),
                                    1};
  for (const float one : extremes)
    for (const float other : extremes)
      for (const std::size_t others : {0, 1, 2, 3, 32, 63, 64}) {
        std::vector<float> block(64, one);
        std::fill_n(block.begin(), others, other);
        check_whole(block);
      }
}

TEST_CASE("sparse floats take a bit for each zero", "[float_code]") {
  std::vector<float> values = uniform(64 * 100, 1, 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i % 4 != 0) values[i] = 0;
  check_whole(values);
  CHECK(code_of(values).size() == 100 * (2 + 8 + 16 * 7 / 2));
  CHECK(code_of(std::vector<float>(64 * 100)).size() == 100 * (2 + 8));
}

TEST_CASE("uniform values shrink to less than nine tenths", "[float_code]") {
  const std::vector<float> values = uniform(64 * 1000, -0.05f, 0.05f);
  CHECK(static_cast<double>(code_of(values).size()) < 0.9 * 4 * 64 * 1000);
}

TEST_CASE("a code of other length is refused", "[float_code]") {
  const std::vector<float> values = uniform(300, -1, 1);
  std::vector<std::byte> code = code_of(values);
  std::vector<float> fewer(200), more(400), back(300);
  CHECK_FALSE(decodes(code, fewer));
  CHECK_FALSE(decodes(code, more));
  code.pop_back();
  CHECK_FALSE(decodes(code, back));
}

TEST_CASE("a code that ends within its largest block is refused, and no byte behind the slack is read",
          "[float_code]") {
  // The last block keeps all of its elements as they are, but only its flags belong to the code.
  std::vector<std::byte> code(1 + kFloatCodeSlack, std::byte{0xff});
  code.front() = std::byte{1};
  std::vector<float> values(64);
  CHECK_FALSE(decode_floats(std::span(code).first(1), values));
}

TEST_CASE("AVX2 gives the code of the plain loops, and each decodes it", "[float_code]") {
  const FloatBlocks* const avx2 = avx2_float_blocks();
  if (!avx2) return;
  using Bits = std::array<std::uint32_t, kFloatCodeBlock>;
  using Code = std::array<std::byte, kFloatCodeSlack>;
  const RandomStream random(3, "blocks");
  std::uint64_t next = 0;
  // Exponents of `range` powers of two below 1, and as many zeros as there are.
  const int range = GENERATE(1, 15, 16, 17, 256), zeros = GENERATE(0, 1, 2, 3, 7, 8, 33, 48, 63, 64);
  for (int repetition = 0; repetition < 20; ++repetition) {
    Bits block;
    for (std::uint32_t& bits : block) {
      const std::uint32_t exponent =
          range == 256 ? random.bits(next++) % 256 : 127 - random.bits(next++) % range;
      bits = (random.bits(next++) & ~kExponentBits) | exponent << kMantissaBits;
    }
    for (int i = 0; i < zeros; ++i)
      block[(random.bits(next) + 5 * static_cast<unsigned>(i)) % block.size()] = 0;
    ++next;
    std::array<float, kFloatCodeBlock> floats, back;
    std::memcpy(floats.data(), block.data(), sizeof floats);
    Code plain{}, fast{};
    const auto bytes = plain_float_blocks.encode(floats.data(), plain.data()) - plain.data();
    REQUIRE(avx2->encode(floats.data(), fast.data()) - fast.data() == bytes);
    REQUIRE(std::memcmp(plain.data(), fast.data(), static_cast<std::size_t>(bytes)) == 0);
    for (const FloatBlocks& blocks : {plain_float_blocks, *avx2}) {
      REQUIRE(blocks.decode(plain.data(), back.data()) - plain.data() == bytes);
      REQUIRE(std::memcmp(back.data(), block.data(), sizeof back) == 0);
    }
  }
}

}  // namespace trainer
