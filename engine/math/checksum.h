#pragma once

#include <cstdint>
#include <span>

namespace trainer {

/// A number that changes whenever a single bit of the floats does, and almost surely when several do. One
/// addition a vector, so that looking after memory costs next to nothing; no protection against intent.
/// Equal floats have equal checksums on every processor of one byte order.
std::uint64_t checksum(std::span<const float> numbers);

/// The floats' words added up without carries (exclusive or), as updates do on their way (UpdateSums). It
/// changes whenever a single bit does; two that flip at the same place of two words are not seen.
std::uint32_t bit_sum(std::span<const float> numbers);

/// Spreads a change of any bit over all of them; a bijection.
constexpr std::uint64_t mixed(std::uint64_t bits) {
  bits ^= bits >> 32;
  bits *= 0xD6E8FEB86659FD93u;
  bits ^= bits >> 32;
  bits *= 0xD6E8FEB86659FD93u;
  return bits ^ bits >> 32;
}

}  // namespace trainer
