#pragma once

#include <cstdint>
#include <span>

namespace trainer {

/// Changes if one bit of the floats changes, and almost surely if several do; no protection against intent.
/// Takes one addition a vector. The same on all processors of one byte order.
std::uint64_t checksum(std::span<const float> values);

/// The exclusive or of the words. Changes if one bit changes; two flips at the same place of two words
/// cancel.
std::uint32_t bit_sum(std::span<const float> values);

/// Spreads a change of any bit over all of them; a bijection.
constexpr std::uint64_t mixed(std::uint64_t bits) {
  bits ^= bits >> 32;
  bits *= 0xD6E8FEB86659FD93u;
  bits ^= bits >> 32;
  bits *= 0xD6E8FEB86659FD93u;
  return bits ^ bits >> 32;
}

}  // namespace trainer
