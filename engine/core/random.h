#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace trainer {

/// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four words that
/// are a pure function of counter and key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// 64-bit FNV-1a; gives purposes and names their place in the key space.
std::uint64_t hash_text(std::string_view text);

/// Random numbers without state: number `index` is a pure function of (seed, purpose, moment, index), so
/// nothing depends on ranks, threads or history. `moment` is a step or an epoch.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view purpose, std::uint64_t moment = 0)
      : RandomStream(seed, hash_text(purpose), moment) {}
  RandomStream(std::uint64_t seed, std::uint64_t purpose_hash, std::uint64_t moment = 0);

  std::uint32_t bits(std::uint64_t index) const;
  /// In [0, 1), a multiple of 2^-24.
  float uniform(std::uint64_t index) const;
  /// Standard normal (Box and Muller 1958).
  float normal(std::uint64_t index) const;
  /// In [0, count), unbiased to 2^-64; `count` > 0.
  std::uint64_t below(std::uint64_t index, std::uint64_t count) const;
  /// What Philox is given beside the counter, its first word below the second; and the upper half of the
  /// counter.
  std::uint64_t key() const { return std::uint64_t{key_[1]} << 32 | key_[0]; }
  std::uint64_t moment() const { return moment_; }
  /// The stream of the same seed and purpose at another moment.
  RandomStream at(std::uint64_t moment) const;
  /// numbers[i] = uniform(first + i).
  void fill_uniform(std::uint64_t first, std::span<float> numbers) const;

 private:
  std::array<std::uint32_t, 4> block(std::uint64_t index) const;

  std::array<std::uint32_t, 2> key_;
  std::uint64_t moment_;
};

/// 0 .. count - 1 in an order that is a pure function of the stream (Fisher and Yates).
std::vector<std::int64_t> permutation(std::int64_t count, const RandomStream& stream);

}  // namespace trainer
