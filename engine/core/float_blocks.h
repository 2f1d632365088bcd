#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/core/float_code.h"

namespace trainer {

// The code of a block of kFloatCodeBlock elements: a byte of flags, a byte with the largest exponent, with
// kLeavesZerosOut 8 bytes of bits for the elements that are not 0, and these elements. With kIsShort of each
// the low 16 bits, then of each the other 7 bits of the mantissa below the sign, then 4 bits for the distance
// of its exponent: a byte for an element of the first half and one of the second. Else they are as they are.
inline constexpr std::uint8_t kLeavesZerosOut = 1, kIsShort = 2;
inline constexpr int kMantissaBits = 23;
inline constexpr std::uint32_t kExponentBits = 0x7f800000, kExponentDistances = 16;
/// A block with so many zeros leaves them out.
inline constexpr int kManyZeros = 3;

/// Code and block of one set of instructions; all have the same code.
struct FloatBlocks {
  /// Returns the end of the code; may overwrite kFloatCodeSlack bytes from `code`.
  std::byte* (*encode)(const float* block, std::byte* code);
  /// Returns the end of the code; reads up to kFloatCodeSlack bytes.
  const std::byte* (*decode)(const std::byte* code, float* block);
};
extern const FloatBlocks plain_float_blocks;
/// Null on other processors.
const FloatBlocks* avx2_float_blocks();

}  // namespace trainer
