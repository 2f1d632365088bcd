#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace trainer {

/// The upper half of a float: 8 bits of precision, the range of float. Conversion rounds to nearest, ties to
/// even (IEEE 754, section 4.3.1); values beyond the largest become infinite, and NaN stays NaN.
struct Bfloat16 {
  std::uint16_t bits = 0;
};

/// The largest relative error of rounding.
inline constexpr float kBfloat16Error = 0x1p-8f;

inline Bfloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1), quiet = bits | 0x400000;
  return {static_cast<std::uint16_t>(((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded) >> 16)};
}
inline float to_float(Bfloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
inline float rounded_to_bfloat16(float value) { return to_float(to_bfloat16(value)); }

// Arrays of equal size.

void to_bfloat16(std::span<const float> from, std::span<Bfloat16> to);
void to_float(std::span<const Bfloat16> from, std::span<float> to);
/// to += from
void add(std::span<const Bfloat16> from, std::span<float> to);
void round_to_bfloat16(std::span<float> values);
/// Rounds how `values` differ from what they were `before`: the differences are left in `changes`, and
/// values = before + changes.
void round_changes(std::span<const float> before, std::span<float> values, std::span<float> changes);

}  // namespace trainer
