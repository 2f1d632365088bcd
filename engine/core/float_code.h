#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace trainer {

// A lossless code of 32-bit floats for gradients and parameters: any bits come back. A block of 64 elements
// has one exponent, the largest. A zero takes one bit if the block has at least three; any other element
// takes sign, mantissa and the 4 bits of its exponent's distance to the largest. Where 4 bits are too few,
// the elements stay as they are.

inline constexpr std::int64_t kFloatCodeBlock = 64;  ///< elements

/// The most bytes of the code of `count` floats: of each block 2 for flags and exponent, a bit for each
/// element, and the elements as they are.
constexpr std::int64_t most_code_bytes(std::int64_t count) {
  constexpr std::int64_t kOfBlock = 2 + kFloatCodeBlock / 8 + 4 * kFloatCodeBlock;
  return (count + kFloatCodeBlock - 1) / kFloatCodeBlock * kOfBlock;
}

/// Bytes behind a code that encode_floats() may overwrite and decode_floats() may read: a block.
inline constexpr std::int64_t kFloatCodeSlack = most_code_bytes(1);

/// Bytes of the code over 4 bytes a float, for uniform values, which parameters resemble. Gradients have
/// zeros and take less.
inline constexpr double kUniformCodeRatio = 0.88;

/// Returns the bytes of the code. `code` has room for most_code_bytes() and kFloatCodeSlack.
std::int64_t encode_floats(std::span<const float> values, std::span<std::byte> code);
/// False if `code` is not that of as many floats. kFloatCodeSlack bytes of readable memory lie behind it.
[[nodiscard]] bool decode_floats(std::span<const std::byte> code, std::span<float> values);

}  // namespace trainer
