#include "engine/core/random.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "engine/core/elementary.h"

namespace trainer {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr float kTwoToMinus24 = 1.0f / 16777216.0f;

float to_unit(std::uint32_t word) { return static_cast<float>(word >> 8) * kTwoToMinus24; }

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

RandomStream::RandomStream(std::uint64_t seed, std::uint64_t purpose_hash, std::uint64_t moment)
    : moment_(moment) {
  // The seed passes through Philox so that neighbouring seeds share no structure with neighbouring purposes.
  const auto mixed =
      philox({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), 0, 0},
             {static_cast<std::uint32_t>(purpose_hash), static_cast<std::uint32_t>(purpose_hash >> 32)});
  key_ = {mixed[0], mixed[1]};
}

std::array<std::uint32_t, 4> RandomStream::block(std::uint64_t index) const {
  return philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                 static_cast<std::uint32_t>(moment_), static_cast<std::uint32_t>(moment_ >> 32)},
                key_);
}

RandomStream RandomStream::at(std::uint64_t moment) const {
  RandomStream other = *this;
  other.moment_ = moment;
  return other;
}

std::uint32_t RandomStream::bits(std::uint64_t index) const { return block(index / 4)[index % 4]; }

float RandomStream::uniform(std::uint64_t index) const { return to_unit(bits(index)); }

float RandomStream::normal(std::uint64_t index) const {
  // Each pair of words makes one pair of normals; 1 - u keeps the logarithm finite.
  const auto words = block(index / 4);
  const std::uint64_t pair = index % 4 / 2 * 2;
  const double radius = std::sqrt(-2.0 * elementary::log(1.0 - static_cast<double>(words[pair]) * 0x1p-32));
  const double angle = 2.0 * std::numbers::pi * static_cast<double>(words[pair + 1]) * 0x1p-32;
  return static_cast<float>(radius * (index % 2 == 0 ? elementary::cos(angle) : elementary::sin(angle)));
}

std::uint64_t RandomStream::below(std::uint64_t index, std::uint64_t count) const {
  const auto words = block(index);
  const std::uint64_t bits = std::uint64_t{words[1]} << 32 | words[0];
  return static_cast<std::uint64_t>(static_cast<Wide>(bits) * count >> 64);
}

void RandomStream::fill_uniform(std::uint64_t first, std::span<float> numbers) const {
  for (std::size_t i = 0; i < numbers.size();) {
    const auto words = block((first + i) / 4);
    for (std::size_t lane = (first + i) % 4; lane < 4 && i < numbers.size(); ++lane, ++i)
      numbers[i] = to_unit(words[lane]);
  }
}

std::vector<std::int64_t> permutation(std::int64_t count, const RandomStream& stream) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::uint64_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.below(i, i)]);
  return order;
}

}  // namespace trainer
