#pragma once

#include <cstdint>
#include <span>

namespace trainer {

/// Changes if one bit of the floats changes, and almost surely if several do; no protection against intent.
/// Takes one addition a vector. The same on all processors of one byte order.
std::uint64_t checksum(std::span<const float> values);

/// For each array of `count` floats the exclusive or of its words. Changes if one bit changes; two flips at
/// the same place of two words cancel. Unless the arrays `are_cached`, fetches the floats behind them, too.
void bit_sums(std::int64_t count, std::span<const float* const> arrays, bool are_cached,
              std::span<std::uint32_t> sums);

/// Spreads a change of any bit over all of them; a bijection.
constexpr std::uint64_t mixed(std::uint64_t bits) {
  bits ^= bits >> 32;
  bits *= 0xD6E8FEB86659FD93u;
  bits ^= bits >> 32;
  bits *= 0xD6E8FEB86659FD93u;
  return bits ^ bits >> 32;
}

}  // namespace trainer
