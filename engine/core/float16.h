#pragma once

#include <bit>
#include <cstdint>

namespace trainer {

/// IEEE 754's binary16: 5 bits of exponent, 10 of the fraction.
struct Float16 {
  std::uint16_t bits = 0;
};

inline float to_float(Float16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000) << 16,
                      fraction = value.bits & 0x3ffu;
  const std::uint32_t exponent = static_cast<std::uint32_t>(value.bits) >> 10 & 0x1fu;
  if (exponent == 0) {
    const float size = static_cast<float>(fraction) * 0x1p-24f;
    return sign == 0 ? size : -size;
  }
  const std::uint32_t wide = exponent == 0x1f ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

}  // namespace trainer
